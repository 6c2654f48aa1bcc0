import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSqlite } from '../support/stored.js';
import { COUNTERS, counterSource, type Fleet, type FleetRobot } from './fleet.js';
import type { Effect } from './history.js';
import { due, duplicates, losses } from './invariants.js';
import { readProbe } from './probe-file.js';
import { startFleet } from './round.js';

/*
 * Each mechanism that a promise stands on, brought deterministically to where the promise would break without it; the rounds of
 * faults meet these moments by chance.
 */

let fleet: Fleet;
let robot: FleetRobot;

beforeEach(async () => {
  fleet = await startFleet(1);
  robot = fleet.robots[0] as FleetRobot;
});

afterEach(async () => {
  await fleet.discard();
});

async function effects(id: number): Promise<Effect[]> {
  const text = await robot.probeText();
  const all = readProbe(text, { killed: robot.killed, counters: COUNTERS, dueAfter: 0, dueTo: 0 }).effects;
  return all.filter((effect) => effect.id === id);
}

/** Waits until everything published so far is stored, but for what a kill may cost; the robot as the invariants see it. */
async function arrived() {
  const dueTo = await robot.newestValue();
  const look = async () => {
    const stored = fleet.store.values();
    const probe = readProbe(await robot.probeText(), { killed: robot.killed, counters: COUNTERS, dueAfter: 0, dueTo });
    const values = Array.from({ length: COUNTERS }, (_, at) => [...(stored.get(`robot-0 ${counterSource(at)}`) ?? [])]);
    return { robot: 'robot-0', ...probe, stored: values, counted: null, wanted: [], collected: [] };
  };
  await expect.poll(async () => losses(await look()), { timeout: 40_000 }).toEqual([]);
  return await look();
}

async function post(command: object): Promise<string> {
  const { status, body } = await fleet.cloud.call<{ uuid: string }>('POST', '/robots/robot-0/commands', command);
  expect(status).toBe(201);
  return body.uuid;
}

const add = (id: number, ms: number) => ({
  ...{ interface: 'service', name: '/probe/add', type: 'example_interfaces/srv/AddTwoInts', payload: { a: id, b: ms } },
  ttl_s: 30,
});

it('the inbox: a command whose acknowledgement and outcome were lost is not run again when it is sent again', async () => {
  robot.proxy.stall(['up']);
  const uuid = await post(add(10, 0));
  await expect.poll(() => effects(10), { timeout: 20_000 }).toHaveLength(1);
  robot.proxy.reset();
  robot.proxy.mend();
  expect(await fleet.cloud.outcome(uuid)).toMatchObject({ state: 'executed' });
  expect(await effects(10)).toHaveLength(1);
});

it('the inbox: a command that ran when the agent was killed is not run again, and nobody claims to know how it ended', async () => {
  const uuid = await post(add(20, 20_000));
  await expect.poll(() => effects(20), { timeout: 20_000 }).toHaveLength(1);
  await robot.kill9();
  await robot.restart();
  expect(await fleet.cloud.outcome(uuid)).toMatchObject({ state: 'error', error_code: 'outcome_unknown' });
  expect(await effects(20)).toHaveLength(1);
});

it('the deadline: a command that was under way for longer than it may live does not run', async () => {
  robot.proxy.stall(['down']);
  const uuid = await post({ ...add(30, 0), ttl_s: 1 });
  await sleep(1_500);
  robot.proxy.mend();
  expect(await fleet.cloud.outcome(uuid)).toMatchObject({ state: 'error', error_code: 'expired' });
  expect(await effects(30)).toEqual([]);
});

it('deduplication: data that was stored and whose acknowledgement was lost is not stored again when it is sent again', async () => {
  const count = () => fleet.store.values().get('robot-0 /probe/counter_1')?.length ?? 0;
  let storedUnheard = 0;
  // An agent that just then waits for acknowledgements sends nothing more: there is nothing to be lost that time.
  for (let tries = 0; tries < 5 && storedUnheard === 0; tries += 1) {
    const connections = robot.proxy.accepted;
    robot.proxy.stall(['down']);
    const before = count();
    await sleep(2_000);
    storedUnheard = count() - before;
    robot.proxy.reset();
    robot.proxy.mend();
    await expect.poll(() => robot.proxy.accepted, { timeout: 40_000 }).toBeGreaterThan(connections);
    await arrived();
  }
  expect(storedUnheard).toBeGreaterThan(0);
  expect(duplicates(await arrived())).toEqual([]);
});

it('acknowledged is committed: what reached the cloud and was not committed when it was killed is sent again', async () => {
  // Nothing can be committed while another connection writes; the agent goes on to send until its window, of 4 KiB at least, is full.
  const other = openSqlite(join(fleet.cloud.dataDir, 'drover.db'));
  other.exec('BEGIN IMMEDIATE');
  const from = robot.proxy.bytes('up');
  await expect.poll(() => robot.proxy.bytes('up') - from, { timeout: 20_000 }).toBeGreaterThan(3_000);
  await fleet.cloud.process.kill9();
  other.exec('ROLLBACK');
  other.close();
  await fleet.cloudRestarted();
  const { lives } = await arrived();
  expect(lives.flatMap((life) => due(life, 0)).length).toBeGreaterThan(50);
});
