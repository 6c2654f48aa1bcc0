import { setTimeout as sleep } from 'node:timers/promises';
import type { LinkProxy } from '../support/link-proxy.js';
import { FREE } from '../support/proxy-wire.js';
import { COUNTERS, counterSource, Fleet, type FleetRobot } from './fleet.js';
import type { History, RobotHistory } from './history.js';
import { violations } from './invariants.js';
import { type Fault, type LineFault, type Plan, STORM_MS } from './plan.js';
import { readProbe } from './probe-file.js';

/** A robot that is in a long wait between two attempts to connect is started anew: a round is short. */
const LONG_WAIT_MS = 3_000;
/** So is one that does not connect for so long, which the next start must mend. */
const RECONNECT_MS = 30_000;
/** A bound for what never comes to rest; a busy machine may take a good part of it to start processes. */
const SETTLE_MS = 100_000;
const LOOK_MS = 700;

export interface RoundReport {
  readonly history: History;
  readonly settleMs: number;
  readonly totalMs: number;
  /** What every process printed. */
  readonly logs: readonly { name: string; text: string }[];
}

/** One round: does with a fleet that is well what the plan says, brings everything back, and tells what was seen. */
export async function runRound(fleet: Fleet, plan: Plan): Promise<RoundReport> {
  const beganMs = performance.now();
  await storm(fleet, plan);
  const calmMs = performance.now();
  const history = await settle(fleet);
  const endMs = performance.now();
  return { history, settleMs: endMs - calmMs, totalMs: endMs - beganMs, logs: fleet.logs() };
}

/** A new fleet, once every counter of every robot has arrived. */
export async function startFleet(robots?: number): Promise<Fleet> {
  const fleet = await Fleet.start(robots);
  while (fleet.store.values().size < fleet.robots.length * COUNTERS) {
    if (fleet.crashes.length > 0) throw new Error(fleet.crashes.join('; '));
    await sleep(100);
  }
  return fleet;
}

async function storm(fleet: Fleet, { faults, commands, changes }: Plan): Promise<void> {
  const { client } = fleet;
  client.isOver = false;
  const startMs = performance.now();
  const at = async (atMs: number, action: () => Promise<void>) => {
    await sleep(Math.max(0, startMs + atMs - performance.now()));
    await action();
  };
  const requests = Promise.all([
    ...commands.map((command) => at(command.atMs, () => client.send(command))),
    ...changes.map((change) => at(change.atMs, () => client.change(change))),
  ]);
  await Promise.all([
    at(STORM_MS, async () => {}),
    ...faults.map((fault) => at(fault.atMs, () => inflict(fleet, fault))),
  ]);
  await requests;
  client.isOver = true;
}

/** One fault, from its beginning to its end. */
async function inflict(fleet: Fleet, fault: Fault): Promise<void> {
  const robot = fleet.robots[Number(fault.target.slice(-1))] as FleetRobot;
  switch (fault.kind) {
    case 'kill':
      if (fault.target === 'cloud') {
        await fleet.cloud.process.kill9();
        await sleep(fault.forMs);
        await fleet.cloudRestarted();
      } else {
        await robot.kill9();
        await sleep(fault.forMs);
        await robot.restart();
      }
      return;
    case 'freeze': {
      const { process } = fault.target === 'cloud' ? fleet.cloud : robot.agent;
      process.signal('SIGSTOP');
      await sleep(fault.forMs);
      process.signal('SIGCONT');
      return;
    }
    case 'clock':
      await robot.shiftClock(fault.shiftMs);
      return;
    default:
      await inflictOnLine(robot.proxy, fault);
  }
}

async function inflictOnLine(line: LinkProxy, fault: LineFault): Promise<void> {
  switch (fault.kind) {
    case 'cut':
      line.cut();
      await sleep(fault.forMs);
      line.mend();
      return;
    case 'stall':
      line.stall();
      await sleep(fault.forMs);
      line.mend();
      return;
    case 'one_way':
      line.stall([fault.stalled]);
      await sleep(fault.forMs);
      line.reset();
      line.mend();
      return;
    case 'forget':
    case 'half_open':
      if (fault.kind === 'half_open') line.halfOpen(fault.resetEnd);
      else line.forget();
      await sleep(fault.forMs);
      // What is still sent on a dead connection is answered by a reset at last, as by a router that was started anew.
      line.reset();
      return;
    case 'slow':
    case 'delay':
      line.shape({ ...FREE, ...(fault.kind === 'slow' ? { bytesPerS: fault.bytesPerS } : { delayMs: fault.ms }) });
      await sleep(fault.forMs);
      line.shape(FREE);
      return;
  }
}

/** The faults are over: waits until everything has come to rest, or gives up and lets the history tell what has not. */
async function settle(fleet: Fleet): Promise<History> {
  const deadlineMs = performance.now() + SETTLE_MS;
  const dueTo = await Promise.all(fleet.robots.map((robot) => robot.newestValue()));
  await Promise.all(fleet.robots.map((robot) => reconnected(fleet, robot)));
  for (;;) {
    const history = await look(fleet, dueTo).catch((error: unknown) => error as Error);
    const isOver = performance.now() > deadlineMs;
    if (!(history instanceof Error)) {
      const isSettled = violations(history).length === 0 && (await fleet.client.allEnded());
      if (isSettled) for (const [at, robot] of fleet.robots.entries()) robot.checkedTo = dueTo[at] ?? 0;
      if (isSettled || isOver) return await withCounts(fleet, history);
    } else if (isOver) throw history;
    await sleep(LOOK_MS);
  }
}

async function reconnected(fleet: Fleet, robot: FleetRobot): Promise<void> {
  for (const deadlineMs = performance.now() + RECONNECT_MS; performance.now() < deadlineMs; await sleep(200)) {
    const [last] = robot.agent.process.lines.filter(({ part }) => part === 'link').slice(-1);
    if (last?.msg === 'connected') return;
    if (Number(last?.retryInMs) > LONG_WAIT_MS) break;
  }
  await fleet.stopRobot(robot);
  await robot.restart();
}

/** The history so far. */
async function look(fleet: Fleet, dueTo: readonly number[]): Promise<History> {
  const stored = fleet.store.values();
  const robots = await Promise.all(
    fleet.robots.map(async (robot, at): Promise<RobotHistory> => {
      const streams = await streamsOf(fleet, robot.name);
      const { killed, checkedTo } = robot;
      const bounds = { dueAfter: checkedTo, dueTo: dueTo[at] ?? 0 };
      return {
        robot: robot.name,
        ...readProbe(await robot.probeText(), { killed, counters: COUNTERS, ...bounds }),
        stored: countersOf(stored, robot.name),
        counted: null,
        wanted: streams.filter(({ enabled }) => enabled).map(({ source, hz }) => `${source} ${hz}`),
        collected: robot.collected,
      };
    }),
  );
  return { robots, commands: await fleet.client.histories(), crashes: [...fleet.crashes] };
}

/** The same with what the API counts, between two looks into the store: data goes on to come. */
async function withCounts(fleet: Fleet, history: History): Promise<History> {
  const told = await Promise.all(history.robots.map(({ robot }) => streamsOf(fleet, robot)));
  const stored = fleet.store.values();
  const robots = history.robots.map((robot, at) => {
    const after = countersOf(stored, robot.robot);
    const counted = robot.stored.map(({ length: before }, counter) => ({
      before,
      told: told[at]?.find(({ source }) => source === counterSource(counter))?.num_recordings ?? -1,
      after: after[counter]?.length ?? 0,
    }));
    return { ...robot, counted };
  });
  return { ...history, robots };
}

function countersOf(stored: ReadonlyMap<string, readonly number[]>, robot: string): number[][] {
  // Copies: what is stored later is not of this look.
  return Array.from({ length: COUNTERS }, (_, counter) => [
    ...(stored.get(`${robot} ${counterSource(counter)}`) ?? []),
  ]);
}

function streamsOf(fleet: Fleet, robot: string) {
  type Streams = { source: string; hz: number; enabled: boolean; num_recordings: number }[];
  return fleet.cloud.get<Streams>(`/robots/${robot}/streams`);
}
