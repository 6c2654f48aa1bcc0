import { describe, expect, it } from 'vitest';
import type { CommandHistory, History, Life, RobotHistory } from './history.js';
import { KILL_LOSS_MAX, LATE_TOLERANCE_MS, violations } from './invariants.js';

const LIFE_1 = 1_000_000_000;
const LIFE_2 = 2_000_000_000;

const upTo = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at + 1);

function life(from: number, count: number, end: Life['end']): Life {
  return { number: from / LIFE_1, end, published: [upTo(from, count)], dueAfter: 0, dueTo: LIFE_2 + 90 };
}

/** A robot that was killed once, with one counter: nothing is wrong with it. */
function robot(changes: Partial<RobotHistory> = {}): RobotHistory {
  return {
    robot: 'robot-0',
    lives: [life(LIFE_1, 100, 'killed'), life(LIFE_2, 100, 'last')],
    effects: [],
    stored: [[...upTo(LIFE_1, 95), ...upTo(LIFE_2, 92)]],
    counted: [{ before: 187, told: 190, after: 195 }],
    wanted: ['/a 10', '/b 5'],
    collected: ['/b 5', '/a 10'],
    ...changes,
  };
}

function history(changes: Partial<RobotHistory> = {}, commands: CommandHistory[] = []): History {
  return { robots: [robot(changes)], commands, crashes: [] };
}

function command(
  state: string,
  errorCode: string | null = null,
  changes: Partial<CommandHistory> = {},
): CommandHistory {
  const rows = [{ uuid: 'one', state, errorCode, deadlineMs: 5_000 }];
  return { id: 7, robot: 'robot-0', interface: 'service', answered: ['one'], rows, ...changes };
}

const acted = (times: number) =>
  Array.from({ length: times }, () => ({ interface: 'service', id: 7, atMs: 100 }) as const);
const invariants = (of: History) => violations(of).map(({ invariant }) => invariant);

it('finds nothing wrong with a robot that lost the last values before its kill', () => {
  expect(violations(history())).toEqual([]);
});

describe('values', () => {
  const stored = (values: number[]) => invariants(history({ stored: [values] }));

  it('may not be stored twice', () => {
    expect(stored([...upTo(LIFE_1, 95), LIFE_1 + 3, ...upTo(LIFE_2, 92)])).toEqual(['no value is stored twice']);
  });

  it('may not be missing in the middle of a life, be it one that was killed', () => {
    const without = upTo(LIFE_1, 95).filter((value) => value !== LIFE_1 + 40);
    expect(stored([...without, ...upTo(LIFE_2, 92)])).toEqual(['no value is lost (killed)']);
  });

  it('may not be missing before a kill by more than it may cost', () => {
    expect(stored([...upTo(LIFE_1, 100 - KILL_LOSS_MAX), ...upTo(LIFE_2, 92)])).toEqual([]);
    expect(stored([...upTo(LIFE_1, 99 - KILL_LOSS_MAX), ...upTo(LIFE_2, 92)])).toEqual(['no value is lost (killed)']);
  });

  it('may not be missing at the end of a life that was stopped in order, but for what was not sampled yet', () => {
    const lives = [life(LIFE_1, 100, 'stopped'), life(LIFE_2, 100, 'last')];
    const found = (count: number) =>
      invariants(history({ lives, stored: [[...upTo(LIFE_1, count), ...upTo(LIFE_2, 92)]] }));
    expect(found(98)).toEqual([]);
    expect(found(97)).toEqual(['no value is lost (stopped)']);
  });

  it('may not be missing from the last life up to what had time to arrive', () => {
    expect(stored([...upTo(LIFE_1, 95), ...upTo(LIFE_2, 90)])).toEqual([]);
    expect(stored([...upTo(LIFE_1, 95), ...upTo(LIFE_2, 89)])).toEqual(['no value is lost (last)']);
  });

  it('may not be stored where they were never published', () => {
    expect(stored([...upTo(LIFE_1, 95), ...upTo(LIFE_2, 92), LIFE_2 + 500])).toEqual([
      'only what was published is stored',
    ]);
  });

  it('have to be counted as they are stored', () => {
    const counted = [{ before: 187, told: 196, after: 195 }];
    expect(invariants(history({ counted }))).toEqual(['num_recordings counts what is kept']);
  });
});

describe('commands', () => {
  const found = (of: CommandHistory, times: number) => invariants(history({ effects: acted(times) }, [of]));

  it('may act once', () => {
    expect(found(command('executed'), 1)).toEqual([]);
    expect(found(command('executed'), 2)).toEqual(['no command acts twice']);
    expect(found(command('error', 'outcome_unknown'), 2)).toEqual(['no command acts twice']);
  });

  it('may have acted or not where nobody knows', () => {
    expect(found(command('error', 'outcome_unknown'), 0)).toEqual([]);
    expect(found(command('error', 'outcome_unknown'), 1)).toEqual([]);
  });

  it('must have acted where they are executed', () => {
    expect(found(command('executed'), 0)).toEqual(['what is said to have run did']);
    expect(found(command('error', 'goal_canceled'), 0)).toEqual(['what is said to have run did']);
  });

  it('may not have acted where they are said never to have run', () => {
    for (const code of ['expired', 'canceled', 'robot_not_online']) {
      expect(found(command('error', code), 0)).toEqual([]);
      expect(found(command('error', code), 1)).toEqual(['what is said never to have run did not']);
    }
  });

  it('may not act once their life is over', () => {
    const at = (atMs: number) => ({ effects: [{ interface: 'service', id: 7, atMs } as const] });
    expect(invariants(history(at(5_000 + LATE_TOLERANCE_MS), [command('executed')]))).toEqual([]);
    expect(invariants(history(at(5_001 + LATE_TOLERANCE_MS), [command('executed')]))).toEqual(['no command acts late']);
  });

  it('must end', () => {
    expect(found(command('created'), 0)).toEqual(['every command has a final outcome']);
    expect(found(command('sent'), 1)).toEqual(['every command has a final outcome']);
  });

  it('are one a request', () => {
    const row = (uuid: string) => ({ uuid, state: 'error', errorCode: 'expired', deadlineMs: 5_000 });
    const two = command('error', null, { rows: [row('one'), row('two')] });
    expect(found(two, 0)).toEqual(['one request is one command']);
  });

  it('are there once their POST was answered, and may be there or not where it was not', () => {
    expect(found(command('executed', null, { rows: [] }), 0)).toEqual(['an answered command is kept']);
    expect(found(command('executed', null, { rows: [], answered: [] }), 0)).toEqual([]);
    expect(found(command('executed', null, { answered: [] }), 1)).toEqual([]);
  });

  it('on a topic are heard where they are said to have been published', () => {
    const topic = command('executed', null, { interface: 'topic' });
    expect(invariants(history({}, [topic]))).toEqual(['what is said to have run did']);
  });
});

it('what a robot collects has to be what is wanted', () => {
  expect(invariants(history({ collected: ['/a 10'] }))).toEqual(['the desired state is reached']);
  expect(invariants(history({ collected: ['/a 10', '/b 6'] }))).toEqual(['the desired state is reached']);
});

it('a process that ends by itself is a violation', () => {
  expect(invariants({ ...history(), crashes: ['robot-0 ended by itself: 70'] })).toEqual(['nothing dies by itself']);
});
