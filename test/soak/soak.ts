/**
 * The soak: a real cloud, a real agent on real ROS 2, twenty streams and a command each 100 ms, for minutes.
 *
 * It owns all processes that it starts and ends them. What is measured is cut into windows; those of the warm-up are
 * shown and don't count. Bounds are checked by the caller (`brokenBounds`).
 */
import { setTimeout } from 'node:timers/promises';
import { TestAgent } from '../support/agent.js';
import { TestCloud } from '../support/cloud.js';
import { Commander, type CommandsReport } from './commander.js';
import {
  COLLECTION_MS,
  COLLECTS_AT_SIGUSR2,
  type Footprint,
  footprint,
  leastOf,
  slopeOf,
  supervised,
} from './measure.js';
import { STREAMS } from './plan.js';
import { SoakRobot } from './robot.js';

const ROBOT_ID = 'soak';
const MINUTE_MS = 60_000;

export interface SoakOptions {
  readonly domainId: number;
  readonly windows: number;
  readonly windowMs: number;
  /** Windows that don't count. */
  readonly warmUpWindows: number;
  readonly sampleMs: number;
  readonly print: (line: string) => void;
}

export interface SoakWindow {
  readonly agent: Footprint;
  readonly cloud: Footprint;
  /** Streams of which nothing was recorded in it. */
  readonly silent: readonly string[];
}

export interface SoakReport {
  /** After the warm-up. */
  readonly windows: readonly SoakWindow[];
  readonly slopes: Readonly<Record<'agent' | 'cloud', number>>;
  /** Last window less the first that counts. */
  readonly descriptorsAdded: Readonly<Record<'agent' | 'cloud', number>>;
  readonly commands: CommandsReport;
  /** Commands that reached the robot, by name. */
  readonly received: Readonly<Record<string, number>>;
}

/** Runs it. @throws Error where the system does not even come up, or a command is refused. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { domainId, print } = options;
  const [cloud, robot] = await Promise.all([TestCloud.start(COLLECTS_AT_SIGUSR2), SoakRobot.start(domainId)]);
  let agent: TestAgent | undefined;
  let received: Readonly<Record<string, number>> | undefined;
  try {
    const token = await cloud.register(ROBOT_ID);
    // As users start it: the supervisor also says how it uses memory.
    agent = await TestAgent.start({ url: cloud.url, token, env: agentEnv(domainId), supervised: true });
    await cloud.online(ROBOT_ID);
    for (const { topic, type, sampledHz } of STREAMS) {
      await cloud.call('POST', `/robots/${ROBOT_ID}/streams`, { source: topic, type, hz: sampledHz });
    }
    await cloud.until<Stream[]>(`/robots/${ROBOT_ID}/streams`, (streams) =>
      streams.every((stream) => stream.num_recordings > 0),
    );
    const commander = new Commander(cloud, ROBOT_ID);
    commander.start();
    const windows = await watch(cloud, supervised(agent.process.pid), options);
    const commands = await commander.stop();
    received = await robot.stop();
    const report = { ...figures(windows.slice(options.warmUpWindows), options), commands, received };
    describeReport(report, print);
    return report;
  } finally {
    if (received === undefined) await robot.stop();
    await agent?.stop();
    await cloud.stop();
  }
}

/** What is not as it should be, in words. `slopeMiB` is per 10 minutes; null leaves memory unchecked. */
export function brokenBounds(report: SoakReport, { slopeMiB }: { slopeMiB: number | null }): string[] {
  const { windows, slopes, descriptorsAdded, commands, received } = report;
  const broken: string[] = [];
  if (slopeMiB !== null && !(slopes.agent < slopeMiB)) broken.push(`the agent grows by ${slopes.agent} MiB per 10 min`);
  if (descriptorsAdded.agent > 0) broken.push(`the agent has ${descriptorsAdded.agent} descriptors more`);
  for (const [index, { silent }] of windows.entries()) {
    if (silent.length > 0) broken.push(`in window ${index + 1} after the warm-up nothing came of ${silent.join(', ')}`);
  }
  if (commands.pending > 0) broken.push(`${commands.pending} commands never ended`);
  const failed = Object.values(commands.errors).reduce((sum, { count }) => sum + count, 0);
  if (failed > commands.sent / 100) broken.push(`${failed} of ${commands.sent} commands failed`);
  for (const name of new Set([...Object.keys(received), ...Object.keys(commands.executed)])) {
    const [executed, reached] = [commands.executed[name] ?? 0, received[name] ?? 0];
    if (executed !== reached) broken.push(`${name}: ${executed} commands executed, ${reached} received by the robot`);
  }
  return broken;
}

interface Stream {
  readonly source: string;
  readonly num_recordings: number;
}

function agentEnv(domainId: number): Record<string, string> {
  return {
    ...COLLECTS_AT_SIGUSR2,
    DROVER_ROS: 'rclnodejs',
    ROS_DOMAIN_ID: String(domainId),
    ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST',
  };
}

async function watch(cloud: TestCloud, agentPid: number, options: SoakOptions): Promise<SoakWindow[]> {
  const { windows: count, windowMs, warmUpWindows, sampleMs, print } = options;
  const recordings = async () => {
    const streams = await cloud.get<Stream[]>(`/robots/${ROBOT_ID}/streams`);
    return new Map(streams.map(({ source, num_recordings }) => [source, num_recordings]));
  };
  const windows: SoakWindow[] = [];
  let before = await recordings();
  let rows = total(before);
  print(
    `windows of ${windowMs / 1000} s, the least of each; garbage collected at its end; ${warmUpWindows} to warm up`,
  );
  print('window  agent MiB  fds  cloud MiB  fds  recorded  silent');
  const begin = performance.now();
  for (let window = 1; window <= count; window += 1) {
    const samples: { agent: Footprint; cloud: Footprint }[] = [];
    while (performance.now() < begin + window * windowMs) {
      await setTimeout(Math.min(sampleMs, Math.max(1, begin + window * windowMs - performance.now())));
      samples.push({ agent: footprint(agentPid), cloud: footprint(cloud.process.pid) });
    }
    process.kill(agentPid, 'SIGUSR2');
    cloud.process.signal('SIGUSR2');
    await setTimeout(COLLECTION_MS);
    samples.push({ agent: footprint(agentPid), cloud: footprint(cloud.process.pid) });
    const now = await recordings();
    const silent = STREAMS.filter(({ topic }) => (now.get(topic) ?? 0) <= (before.get(topic) ?? 0));
    const found: SoakWindow = {
      agent: leastOf(samples.map((sample) => sample.agent)),
      cloud: leastOf(samples.map((sample) => sample.cloud)),
      silent: silent.map(({ topic }) => topic),
    };
    windows.push(found);
    print(row(window, found, total(now) - rows));
    rows = total(now);
    before = now;
  }
  return windows;
}

function total(recordings: ReadonlyMap<string, number>): number {
  return [...recordings.values()].reduce((sum, value) => sum + value, 0);
}

function row(window: number, { agent, cloud, silent }: SoakWindow, recorded: number): string {
  const cells = [
    String(window).padStart(6),
    agent.rssMiB.toFixed(2).padStart(9),
    String(agent.descriptors).padStart(3),
    cloud.rssMiB.toFixed(2).padStart(9),
    String(cloud.descriptors).padStart(3),
    String(recorded).padStart(8),
    silent.join(' ') || '-',
  ];
  return cells.join('  ');
}

function figures(windows: readonly SoakWindow[], { windowMs }: SoakOptions) {
  const slope = (of: 'agent' | 'cloud') =>
    (slopeOf(windows.map((window) => window[of].rssMiB)) * 10 * MINUTE_MS) / windowMs;
  const added = (of: 'agent' | 'cloud') =>
    (windows.at(-1)?.[of].descriptors ?? 0) - (windows[0]?.[of].descriptors ?? 0);
  return {
    windows,
    slopes: { agent: slope('agent'), cloud: slope('cloud') },
    descriptorsAdded: { agent: added('agent'), cloud: added('cloud') },
  };
}

function describeReport({ slopes, descriptorsAdded, commands, received }: SoakReport, print: (line: string) => void) {
  for (const of of ['agent', 'cloud'] as const) {
    print(`${of}: ${slopes[of].toFixed(2)} MiB per 10 minutes, descriptors ${signed(descriptorsAdded[of])}`);
  }
  print(`commands: ${commands.sent} sent, ${commands.pending} without an end`);
  for (const name of Object.keys(received)) {
    print(`  ${name}: ${commands.executed[name] ?? 0} executed, ${received[name]} received by the robot`);
  }
  for (const [code, { count, example }] of Object.entries(commands.errors)) print(`  ${code}: ${count} (${example})`);
}

function signed(value: number): string {
  return value < 0 ? String(value) : `+${value}`;
}
