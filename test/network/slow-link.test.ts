import type { Robot } from '@drover/shared/api/robots';
import { expect, it, onTestFinished } from 'vitest';
import type { Outcome } from '../support/cloud.js';
import { storedCdr } from '../support/stored.js';
import { agentAt, openLine, startCloud } from './line.js';
import { quantile, report } from './measure.js';
import { prefillSpool } from './prefill.js';

const BYTES_PER_S = 64_000 / 8;
const MEASURED_S = Number(process.env.DROVER_TEST_SLOW_S ?? 15);
const MESSAGES = 4;
const TWIST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist', payload: {} };
const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

function* bigMessages() {
  for (let n = 0; n < MESSAGES; n += 1) {
    const data = String(n).padEnd(1024 * 1024, '.');
    yield { source: '/big', type: 'std_msgs/msg/String', data, stampMs: Date.now() } as const;
  }
}

it('a stream of 1 MB messages at 64 kbit/s: commands end within 3 s, the session lasts, and the stream progresses', async () => {
  const cloud = await startCloud();
  const line = await openLine(cloud);
  const agent = await agentAt(line, await cloud.register('rover-1'));
  onTestFinished(async () => {
    await line.slow();
    await agent.stop();
    await line.close();
    await cloud.stop();
  });
  await cloud.online('rover-1');
  await agent.process.stop();
  await cloud.online('rover-1', false);
  prefillSpool(agent.dataDir, bigMessages());

  await line.slow(BYTES_PER_S);
  await agent.restart();
  await cloud.online('rover-1');
  const { online_updated_at: since } = await cloud.get<Robot>('/robots/rover-1');
  const startMs = Date.now();
  const bytesBefore = await line.bytesUp();
  const latencies: number[] = [];
  const outcomes: Outcome[] = [];
  while (Date.now() - startMs < MEASURED_S * 1000) {
    const postedMs = Date.now();
    const ended = await cloud.run('rover-1', latencies.length % 2 === 0 ? TWIST : TRIGGER);
    expect(ended).toMatchObject({ state: 'executed' });
    latencies.push(Date.now() - postedMs);
    outcomes.push(ended);
  }
  const share = ((await line.bytesUp()) - bytesBefore) / (BYTES_PER_S * ((Date.now() - startMs) / 1000));
  report('64 kbit/s with messages of 1 MB', {
    command_ms: { median: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), count: latencies.length },
    slowest: { ms: Math.max(...latencies), ...timesOf(outcomes[latencies.indexOf(Math.max(...latencies))]) },
    link_used: Math.round(share * 100) / 100,
  });
  expect(quantile(latencies, 0.99)).toBeLessThan(3_000);
  expect(share).toBeGreaterThan(0.6);
  expect((await cloud.get<Robot>('/robots/rover-1')).online_updated_at).toBe(since);
  expect(agent.process.lines.filter(({ msg }) => msg === 'connected')).toHaveLength(1);

  // What was under way goes on where it was, and comes once.
  await line.slow();
  await expect.poll(() => storedCdr(cloud.dataDir, '/big').length, { timeout: 60_000, interval: 500 }).toBe(MESSAGES);
}, 600_000);

/** Where a command's time went: to the robot's disk and word of it back, and by the robot's clock to its end. */
function timesOf(outcome: Outcome | undefined) {
  const after = (time: string | null | undefined) => Date.parse(time ?? '') - Date.parse(outcome?.created_at ?? '');
  return { sent_ms: after(outcome?.sent_at), finished_ms: after(outcome?.finished_at) };
}
