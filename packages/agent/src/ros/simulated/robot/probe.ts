import { openSync, readFileSync, writeSync } from 'node:fs';
import type { ActionHandlers } from '../actions.js';
import type { RosNode } from '../ros-node.js';

/** Counters of the probe: /probe/counter_1 and so on, std_msgs/msg/Int64 at 50 Hz. */
export const PROBE_COUNTERS = 5;
/** A robot's life (a run of its process) counts from its number times this: no value comes twice. */
export const PROBE_LIFE = 1_000_000_000;

const TICK_MS = 20;
const GOAL_STEP_MS = 200;

/**
 * For tests of what is lost and what is done twice: five counters, and the topic /probe/note (std_msgs/msg/String), the service
 * /probe/add (example_interfaces/srv/AddTwoInts, which takes `b` ms) and the action /probe/goal (example_interfaces/action/Fibonacci, `order` % 10
 * steps of 200 ms). What happens is appended to `file` where it happens, a line each, by one write that a kill -9
 * of the process survives (a message in a queue of this process would not):
 *
 *     life 2                 the process runs for the second time: its counters begin at 2 * PROBE_LIFE + 1
 *     tick 2000000001 11111  published by each counter that has a 1, since somebody was subscribed to it
 *     topic TEXT 812345 | service A 812345 | goal ORDER 812345   with the machine's monotonic clock, in ms
 */
export async function startProbe(node: RosNode, file: string): Promise<void> {
  const fd = openSync(file, 'a+');
  const write = (line: string) => writeSync(fd, `${line}\n`);
  const effect = (kind: string, value: unknown) => write(`${kind} ${value} ${process.hrtime.bigint() / 1_000_000n}`);
  const life = (readFileSync(file, 'utf8').match(/^life /gm)?.length ?? 0) + 1;
  write(`life ${life}`);
  await count(node, life, write);
  await node.subscribe('/probe/note', 'std_msgs/msg/String', ({ data }) => effect('topic', data), { atOnce: true });
  await node.service('/probe/add', 'example_interfaces/srv/AddTwoInts', async ({ a, b }) => {
    effect('service', a);
    await passed(node, Number(b));
    return { sum: BigInt(String(a)) + BigInt(String(b)) };
  });
  await node.actionServer('/probe/goal', 'example_interfaces/action/Fibonacci', goals(node, effect));
}

async function passed(node: RosNode, ms: number): Promise<void> {
  if (ms <= 0) return;
  await new Promise<void>((resolve) => {
    const stop = node.every(ms, () => {
      stop();
      resolve();
    });
  });
}

async function count(node: RosNode, life: number, write: (line: string) => void): Promise<void> {
  const counters = await Promise.all(
    Array.from({ length: PROBE_COUNTERS }, (_, at) => node.publisher(`/probe/counter_${at + 1}`, 'std_msgs/msg/Int64')),
  );
  let value = BigInt(life) * BigInt(PROBE_LIFE);
  node.every(TICK_MS, () => {
    value += 1n;
    const heard = counters.filter((counter) => counter.isHeard);
    if (heard.length === 0) return;
    // Before it is published: what was, is written, however the process ends.
    write(`tick ${value} ${counters.map((counter) => (counter.isHeard ? 1 : 0)).join('')}`);
    for (const counter of heard) counter.publish({ data: value });
  });
}

function goals(node: RosNode, effect: (kind: string, value: unknown) => void): ActionHandlers {
  return {
    execute: ({ goal, canceled, feedback }) =>
      new Promise((resolve) => {
        effect('goal', goal.order);
        const sequence: number[] = [];
        const steps = Number(goal.order) % 10;
        const end = (status: 'succeeded' | 'canceled') => {
          stopSteps();
          resolve({ status, result: { sequence } });
        };
        const stopSteps = node.every(GOAL_STEP_MS, () => {
          sequence.push(sequence.length);
          feedback({ sequence: [...sequence] });
          if (sequence.length > steps) end('succeeded');
        });
        canceled.addEventListener('abort', () => end('canceled'));
      }),
  };
}
