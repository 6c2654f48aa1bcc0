import { decodeCdr } from '@drover/shared/ros/cdr';
import { expect, it, onTestFinished } from 'vitest';
import { createSimulatedGraph } from './graph.js';
import { readLoad, startLoad } from './load.js';
import { ManualClock } from './manual-clock.fixture.js';

const STRING = 'std_msgs/msg/String';

/** The numbers of a load that is heard from the start. */
async function heard(load: string) {
  const clock = new ManualClock();
  const graph = createSimulatedGraph({ clock, onFault: () => {} });
  await graph.start();
  onTestFinished(() => graph.stop());
  const definition = await graph.describe(STRING);
  if (definition.kind !== 'msg') throw new TypeError('no message');
  const numbers: number[] = [];
  await graph.subscribe({
    ...{ topic: '/load', type: STRING, drainHz: 100, depth: 100 },
    onMessage: (cdr) => numbers.push(Number(decodeCdr(definition.message, cdr).data)),
  });
  await startLoad(graph.peers.node('/load'), readLoad(load));
  return { clock, numbers };
}

it('skips what a blocked process missed', async () => {
  const { clock, numbers } = await heard('/load:100:16');
  await clock.advance(50);
  clock.block(200);
  await clock.advance(50);
  expect(numbers.at(-1)).toBeLessThan(15);
});

it('publishes what a blocked process missed where it is to be steady', async () => {
  const { clock, numbers } = await heard('/load:100:16:steady');
  await clock.advance(50);
  clock.block(200);
  await clock.advance(50);
  expect(numbers).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
});

it.each(['/load:0:16', '/load:100:15', '/load:100:16:often'])('refuses %s', (load) => {
  expect(() => readLoad(load)).toThrow(RangeError);
});
