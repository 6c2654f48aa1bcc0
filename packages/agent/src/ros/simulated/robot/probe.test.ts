import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SimulatedGraph } from '../graph.js';
import { ManualClock } from '../manual-clock.fixture.js';
import { createRobotGraph } from '../robot-graph.js';

let dir: string;
let file: string;
let clock: ManualClock;
let graph: SimulatedGraph;

async function live(): Promise<void> {
  clock = new ManualClock();
  graph = createRobotGraph({
    clock,
    random: () => 0.5,
    onFault: (where) => expect.unreachable(where),
    probeFile: file,
  });
  await graph.start();
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'drover-probe-'));
  file = join(dir, 'probe');
  await live();
});

afterEach(async () => {
  await graph.stop();
  rmSync(dir, { recursive: true });
});

const lines = () => readFileSync(file, 'utf8').trimEnd().split('\n');

it('writes each value that a subscribed counter publishes, and counts on from another number in its next life', async () => {
  const heard: unknown[] = [];
  const watcher = graph.peers.node('/watcher');
  await watcher.subscribe('/probe/counter_2', 'std_msgs/msg/Int64', ({ data }) => heard.push(data));
  await clock.advance(40);
  expect(lines()).toEqual(['life 1', 'tick 1000000001 01000', 'tick 1000000002 01000']);
  expect(heard.map(String)).toEqual(['1000000001', '1000000002']);
  await graph.stop();
  await live();
  expect(lines().at(-1)).toBe('life 2');
});

it('writes what commands do where they do it', async () => {
  const watcher = graph.peers.node('/watcher');
  const note = await watcher.publisher('/probe/note', 'std_msgs/msg/String');
  note.publish({ data: '17' });
  expect(lines().at(-1)).toMatch(/^topic 17 \d+$/);
});
