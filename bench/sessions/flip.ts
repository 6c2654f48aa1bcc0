import { join } from 'node:path';
import type { Robot } from '@drover/shared/api/robots';
import { Fleet } from '#test/network/fleet';
import { API_KEY, TestCloud } from '#test/support/cloud';
import { CommandLoad } from '../commands/load.js';
import { atLeast, atMost, type Benchmark, type Row } from '../harness/benchmark.js';
import { type FailedAttempts, failedAttempts } from './failed-attempts.js';
import { checkDescriptors } from './limits.js';
import { type Ends, RandomCommands } from './random-commands.js';
import { seedRobots } from './seeded-robots.js';

const ROBOTS_A_PROCESS = 1_000;
const LOOK_MS = 250;
/** A pause between two commands: without, they and the questions for their outcomes are half of what the gateway does. */
const COMMAND_EVERY_MS = 100;
/** Robots bring processors of their own; here they share the gateway's, so they stand back where both want one. */
const NICE = ['nice', '-n', '10'];
/** Robots that come back sooner have not been away, by what the API shows: the gateway's own grace, less a second. */
const GRACE_MS = 19_000;

export const flip: Benchmark = {
  name: 'flip',
  summary: 'a gateway restarts under 10k robots: how long until all are back, and what commands meet meanwhile',
  run: async (context) => {
    const robots = context.smoke ? 10 : 10_000;
    checkDescriptors(robots);
    const cloud = await TestCloud.start({}, join(context.dir, 'cloud'));
    context.onEnd(() => cloud.stop());
    let tokens: string[] = [];
    await cloud.restart(() => {
      tokens = seedRobots(cloud.dataDir, robots);
    });
    // The first one in a process of its own: it gets the commands whose time is told.
    const groups = [tokens.slice(0, 1)];
    for (let at = 1; at < robots; at += ROBOTS_A_PROCESS) groups.push(tokens.slice(at, at + ROBOTS_A_PROCESS));
    const fleets: Fleet[] = [];
    context.onEnd(() => Promise.all(fleets.map((fleet) => fleet.stop())));
    // One after the other: all at once, and with nothing to spread them, is not what a restart is like.
    for (const group of groups) {
      const fleet = new Fleet({ url: cloud.url, within: NICE }, group);
      fleets.push(fleet);
      while (fleet.open < group.length) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    const online = async () => (await cloud.get<Robot[]>('/robots')).filter((robot) => robot.online).length;
    const opened = () => fleets.reduce((sum, fleet) => sum + fleet.open, 0);
    const allBack = async (sinceMs: number) => {
      const back = () => fleets.reduce((sum, fleet) => sum + fleet.openedSince(sinceMs).length, 0);
      while (back() < robots || opened() < robots || (await online()) < robots) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    };
    await allBack(0);
    context.say(`${robots} robots are online`);

    const backS: number[] = [];
    const lost: number[] = [];
    const worstMs: number[] = [];
    const flapped: number[] = [];
    const failed: FailedAttempts[] = [];
    const ends: Ends[] = [];
    for (let window = 0; window < context.windows; window += 1) {
      const stoppedMs = Date.now();
      await cloud.restart();
      const upMs = Date.now();
      const random = new RandomCommands(cloud.url, robots, { 'svc-api-key': API_KEY });
      const load = new CommandLoad(cloud.url, 'robot-0', { 'svc-api-key': API_KEY });
      await cloud.online('robot-0');
      while ((fleets[0]?.openedSince(stoppedMs).length ?? 0) < 1)
        await new Promise((resolve) => setTimeout(resolve, 10));
      let going = true;
      const commanding = (async () => {
        let worst = 0;
        while (going) {
          worst = Math.max(worst, (await load.alone(1)).maxMs);
          await new Promise((resolve) => setTimeout(resolve, COMMAND_EVERY_MS));
        }
        return worst;
      })();
      await allBack(stoppedMs);
      backS.push((Date.now() - upMs) / 1000);
      failed.push(
        failedAttempts(
          fleets.flatMap(({ events }) => events),
          upMs,
        ),
      );
      going = false;
      flapped.push(await flapsOf(cloud, fleets, groups, { stoppedMs, upMs }));
      // Throws where one was not executed.
      worstMs.push(await commanding);
      load.close();
      ends.push(await random.stop());
      lost.push(closedSince(fleets, stoppedMs));
    }
    const rows: Row[] = [
      { what: `a restart under ${robots} robots, all back after`, unit: 's', ours: backS, goal: atMost(60) },
      { what: 'sessions that came back and were lost again', unit: 'sessions', ours: lost, goal: atMost(0) },
      { what: 'robots shown offline though back within the grace', unit: 'robots', ours: flapped, goal: atMost(0) },
      {
        what: 'the slowest command meanwhile, to a robot that is back',
        unit: 'ms',
        ours: worstMs,
        note: 'every command was executed',
        goal: atMost(5000),
      },
      {
        ...{ what: 'attempts that timed out, or were refused without a time to come again', unit: 'attempts' },
        ...{ ours: failed.map(({ untold }) => untold), goal: atMost(0) },
        note: `${failed.reduce((sum, { told }) => sum + told, 0)} were told when to come${sumsOf(failed)}`,
      },
      {
        ...{ what: 'commands to random robots from the moment of listening, answered', unit: '%' },
        ...{ ours: ends.map(({ answered, posted }) => (answered / posted) * 100), goal: atLeast(100) },
        note: `the slowest POST took ${Math.round(Math.max(...ends.map(({ slowestPostMs }) => slowestPostMs)))} ms${sumsOf(ends)}`,
      },
      {
        ...{ what: 'of them executed', unit: '%', note: 'no goal: a robot that is not back can’t' },
        ours: ends.map(({ by, posted }) => ((by.executed ?? 0) / posted) * 100),
      },
    ];
    return { rows, facts: { robots, robotsAProcess: ROBOTS_A_PROCESS } };
  },
};

/** How many ended how, in all windows: the most first. */
function sumsOf(windows: readonly { readonly by: Readonly<Record<string, number>> }[]): string {
  const sums = new Map<string, number>();
  for (const { by } of windows) {
    for (const [end, count] of Object.entries(by)) sums.set(end, (sums.get(end) ?? 0) + count);
  }
  const sorted = [...sums].toSorted(([, a], [, b]) => b - a);
  return sorted.map(([end, count]) => `; ${count} ${end}`).join('');
}

/** Robots whose session came back within the grace, and whose `online` changed all the same. */
async function flapsOf(
  cloud: TestCloud,
  fleets: readonly Fleet[],
  groups: readonly (readonly string[])[],
  { stoppedMs, upMs }: { stoppedMs: number; upMs: number },
): Promise<number> {
  const soon = new Set<string>();
  let before = 0;
  for (const [at, fleet] of fleets.entries()) {
    for (const { event, robot, at: openedMs } of fleet.events) {
      const isSoon = event === 'opened' && openedMs >= stoppedMs && openedMs < upMs + GRACE_MS;
      if (isSoon) soon.add(`robot-${before + robot}`);
    }
    before += groups[at]?.length ?? 0;
  }
  const robots = await cloud.get<Robot[]>('/robots');
  return robots.filter(({ id, online_updated_at: since }) => soon.has(id) && Date.parse(since) >= stoppedMs).length;
}

/** Sessions that began since and ended: a robot may hear late of the end of the one before. */
function closedSince(fleets: readonly Fleet[], sinceMs: number): number {
  let lost = 0;
  for (const { events } of fleets) {
    const back = new Set<number>();
    for (const { event, robot, at } of events) {
      if (at < sinceMs) continue;
      if (event === 'opened') back.add(robot);
      if (event === 'closed' && back.delete(robot)) lost += 1;
    }
  }
  return lost;
}
