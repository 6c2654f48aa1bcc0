import type { TestCloud } from './cloud.js';

export const COUNTER = { source: '/counter', type: 'std_msgs/msg/Int64', hz: 100 };

interface Point {
  uuid: string;
  stamp: string;
  payload: { data: number };
}

/** The points of the simulated robot's /counter that the cloud has. */
async function counterPoints(cloud: TestCloud, robotId: string): Promise<Point[]> {
  const points = new Map<string, Point>();
  for (let offset = 0; ; offset += 1000) {
    const page = await cloud.get<Point[]>(`/robots/${robotId}/data?source=/counter&limit=1000&offset=${offset}`);
    // One that came meanwhile moves the others down, so that the next page begins with some of this one.
    for (const point of page) points.set(point.uuid, point);
    if (page.length < 1000) return [...points.values()];
  }
}

/** Their values, in their own order. */
export async function counterValues(cloud: TestCloud, robotId = 'rover-1'): Promise<number[]> {
  const points = await counterPoints(cloud, robotId);
  return points.map((point) => point.payload.data).sort((a, b) => a - b);
}

/** How many values there are, how many are there twice, and how many are missing between the first and the last. */
export function tally(values: readonly number[]): { values: number; twice: number; missing: number } {
  const distinct = new Set(values).size;
  const span = values.length === 0 ? 0 : Math.max(...values) - Math.min(...values) + 1;
  return { values: values.length, twice: values.length - distinct, missing: span - distinct };
}

/** Resolves once `more` values beyond those there now are stored. */
export async function counterGoesOn(cloud: TestCloud, more = 50, robotId = 'rover-1'): Promise<void> {
  type Streams = { source: string; num_recordings: number }[];
  const count = (streams: Streams) => streams.find(({ source }) => source === '/counter')?.num_recordings ?? 0;
  const before = count(await cloud.get<Streams>(`/robots/${robotId}/streams`));
  await cloud.until<Streams>(`/robots/${robotId}/streams`, (streams) => count(streams) >= before + more);
}

/** The robot sends what it has within this time, unless it is kept from it. */
const QUIET_MS = 2_000;

/** Disables the stream and waits until nothing of it comes any more, backfill included. */
export async function counterStopped(cloud: TestCloud, robotId = 'rover-1'): Promise<void> {
  await cloud.call('PATCH', `/robots/${robotId}/%2Fcounter`, { enabled: false, hz: 100 });
  let last = { count: -1, sinceMs: 0 };
  await cloud.until<{ source: string; num_recordings: number }[]>(`/robots/${robotId}/streams`, (streams) => {
    const count = streams.find(({ source }) => source === '/counter')?.num_recordings ?? 0;
    if (count !== last.count) last = { count, sinceMs: performance.now() };
    return performance.now() - last.sinceMs > QUIET_MS;
  });
}

/** A process that starts stands still for a moment now and then; what the robot counted then may come in a burst over the stream's rate. */
const START_VALUES = 25;

interface Run {
  first: number;
  values: number;
  missing: number;
}

/** As tally(), where the robot has been started anew: each start counts from 1, and its first moments don't count. Two points of one value and one stamp are one. */
export async function counterRuns(cloud: TestCloud, robotId = 'rover-1'): Promise<{ twice: number; runs: Run[] }> {
  const points = await counterPoints(cloud, robotId);
  const distinct = [
    ...new Set(points.map(({ stamp, payload }) => `${stamp} ${String(payload.data).padStart(9, '0')}`)),
  ];
  const runs: number[][] = [];
  for (const value of distinct.sort().map((key) => Number(key.slice(-9)))) {
    const run = runs.at(-1);
    if (run && value > (run.at(-1) ?? 0)) run.push(value);
    else runs.push([value]);
  }
  return {
    twice: points.length - distinct.length,
    runs: runs.map((run) => ({
      first: run[0] ?? 0,
      values: run.length,
      missing: tally(run.slice(START_VALUES)).missing,
    })),
  };
}
