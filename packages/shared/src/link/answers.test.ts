import { expect, it } from 'vitest';
import { graphAnswer } from './answers.js';

it('notes one thing that is wrong with a graph, where a robot could send more than there is memory to note', () => {
  const wrong = (length: number) => new Array<unknown>(length).fill(0);
  const topic = { name: '/odom', types: [], publishers: wrong(500), subscribers: [] };
  const result = { nodes: [], topics: new Array(500).fill(topic), services: [], actions: [] };
  expect(graphAnswer.safeParse(result).error?.issues).toMatchObject([{ path: ['topics', 0, 'publishers', 0] }]);
});

it('takes no graph of more names than a robot has', () => {
  const result = { nodes: new Array(20_001).fill('/a'), topics: [], services: [], actions: [] };
  expect(graphAnswer.safeParse(result).error?.issues).toMatchObject([{ path: ['nodes'] }]);
});
