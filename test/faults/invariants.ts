/** What must hold of any history. Pure: each takes what was seen and tells what is wrong with it. */
import type { CommandHistory, Effect, History, Life, RobotHistory, Violation } from './history.js';

/** 250 ms of a 50 Hz counter: what a kill may cost, since it had not been committed. */
export const KILL_LOSS_MAX = 13;
/** What an orderly stop may cost: received, and not sampled yet. */
export const STOP_LOSS_MAX = 2;

/** From the agent's last look at the clock to the effect, on a machine that is busy. */
export const LATE_TOLERANCE_MS = 1_000;

/** Ends that say the command never ran. */
const NEVER_RAN = new Set(['robot_not_provisioned', 'robot_not_online', 'expired', 'canceled', 'not_allowed']);
/** Ends that say it did. */
const RAN = new Set(['goal_canceled', 'goal_aborted']);

/** Everything that is wrong with a round. */
export function violations(history: History): Violation[] {
  return [
    ...history.crashes.map((detail) => ({ invariant: 'nothing dies by itself', detail })),
    ...history.robots.flatMap((robot) => [
      ...duplicates(robot),
      ...losses(robot),
      ...inventions(robot),
      ...miscounts(robot),
      ...unreachedState(robot),
    ]),
    ...history.commands.flatMap((command) => [
      ...twice(command),
      ...unended(command),
      ...forgotten(command),
      ...untrue(command, effectsOf(history, command)),
      ...repeated(command, effectsOf(history, command)),
      ...late(command, effectsOf(history, command)),
    ]),
  ];
}

/** No value is stored twice. */
export function duplicates({ robot, stored }: RobotHistory): Violation[] {
  return stored.flatMap((values, counter) => {
    const seen = new Set<number>();
    const double = values.filter((value) => seen.size === seen.add(value).size);
    return double.length === 0 ? [] : [wrong('no value is stored twice', robot, counter, double)];
  });
}

/** Every value that reached the agent is stored, but for the last of a life that was killed. */
export function losses({ robot, stored, lives }: RobotHistory): Violation[] {
  return stored.flatMap((values, counter) => {
    const here = new Set(values);
    return lives.flatMap((life) => {
      const missing = due(life, counter).filter((value) => !here.has(value));
      return isExcused(life, missing, counter)
        ? []
        : [wrong(`no value is lost (${life.end})`, robot, counter, missing)];
    });
  });
}

/** Values that kills cost: what the rounds tell, all within the bound. */
export function lostAtKills({ stored, lives }: RobotHistory): number[] {
  return lives
    .filter((life) => life.end === 'killed')
    .flatMap((life) =>
      stored.map((values, counter) => {
        const here = new Set(values);
        return due(life, counter).filter((value) => !here.has(value)).length;
      }),
    );
}

/** What has to be stored of a life. */
export function due({ published, dueAfter, dueTo }: Life, counter: number): number[] {
  return (published[counter] ?? []).filter((value) => value > dueAfter && value <= dueTo);
}

/** Nothing is stored that the robot never published. */
export function inventions({ robot, stored, lives }: RobotHistory): Violation[] {
  return stored.flatMap((values, counter) => {
    const published = new Set(lives.flatMap((life) => life.published[counter] ?? []));
    const dueAfter = lives[0]?.dueAfter ?? 0;
    const strange = values.filter((value) => value > dueAfter && !published.has(value));
    return strange.length === 0 ? [] : [wrong('only what was published is stored', robot, counter, strange)];
  });
}

/** The API counts what is there. */
export function miscounts({ robot, counted }: RobotHistory): Violation[] {
  return (counted ?? []).flatMap(({ before, told, after }, counter) => {
    if (before <= told && told <= after) return [];
    const detail = `${robot} counter ${counter}: ${before} to ${after} stored, num_recordings ${told}`;
    return [{ invariant: 'num_recordings counts what is kept', detail }];
  });
}

/** The robot collects what the cloud wants it to. */
export function unreachedState({ robot, wanted, collected }: RobotHistory): Violation[] {
  const [should, does] = [[...wanted].sort().join(', '), [...collected].sort().join(', ')];
  if (should === does) return [];
  return [{ invariant: 'the desired state is reached', detail: `${robot}: wanted ${should}; collects ${does}` }];
}

/** One POST, or one idempotency-key, is one command. */
export function twice({ id, rows, answered }: CommandHistory): Violation[] {
  const uuids = new Set([...rows.map((row) => row.uuid), ...answered]);
  if (uuids.size <= 1) return [];
  return [{ invariant: 'one request is one command', detail: `${id}: ${[...uuids].join(', ')}` }];
}

/** What a POST was answered with is there. */
export function forgotten({ id, rows, answered }: CommandHistory): Violation[] {
  const lost = answered.filter((uuid) => !rows.some((row) => row.uuid === uuid));
  return lost.map((uuid) => ({ invariant: 'an answered command is kept', detail: `${id}: ${uuid} is gone` }));
}

/** Every command has a final outcome. */
export function unended({ id, robot, rows }: CommandHistory): Violation[] {
  return rows
    .filter(({ state }) => state !== 'executed' && state !== 'error')
    .map(({ uuid, state }) => ({
      invariant: 'every command has a final outcome',
      detail: `${id} ${uuid} at ${robot}: ${state}`,
    }));
}

/** No command has its effect twice. */
export function repeated({ id, rows }: CommandHistory, effects: readonly Effect[]): Violation[] {
  if (effects.length <= 1) return [];
  const uuids = rows.map((row) => row.uuid).join(', ');
  return [{ invariant: 'no command acts twice', detail: `${id} ${uuids}: ${effects.length} times` }];
}

/** No command begins to act once its life is over. */
export function late({ id, robot, rows }: CommandHistory, effects: readonly Effect[]): Violation[] {
  const deadlineMs = Math.max(...rows.map((row) => row.deadlineMs));
  return effects
    .filter(({ atMs }) => atMs > deadlineMs + LATE_TOLERANCE_MS)
    .map(({ atMs }) => ({
      invariant: 'no command acts late',
      detail: `${id} at ${robot}: by ${atMs - deadlineMs} ms`,
    }));
}

/** An outcome tells what happened. */
export function untrue(command: CommandHistory, effects: readonly Effect[]): Violation[] {
  return command.rows.flatMap(({ uuid, state, errorCode }) => {
    const end = errorCode ?? state;
    const said = `${command.id} ${uuid} at ${command.robot}: ${end}, but it acted ${effects.length} times`;
    if (NEVER_RAN.has(end) && effects.length > 0) {
      return [{ invariant: 'what is said never to have run did not', detail: said }];
    }
    const ran = state === 'executed' || RAN.has(end);
    if (ran && effects.length === 0) {
      return [{ invariant: 'what is said to have run did', detail: said }];
    }
    return [];
  });
}

export function effectsOf(history: History, { id, robot, interface: kind }: CommandHistory): Effect[] {
  const effects = history.robots.find((one) => one.robot === robot)?.effects ?? [];
  return effects.filter((effect) => effect.interface === kind && effect.id === id);
}

/** Only the end of a life may be missing, and only so much of it. */
function isExcused(life: Life, missing: readonly number[], counter: number): boolean {
  if (missing.length === 0) return true;
  const last = due(life, counter).slice(-missing.length);
  const most = life.end === 'killed' ? KILL_LOSS_MAX : life.end === 'stopped' ? STOP_LOSS_MAX : 0;
  return missing.length <= most && last.every((value, at) => value === missing[at]);
}

function wrong(invariant: string, robot: string, counter: number, values: readonly number[]): Violation {
  const shown = values.slice(0, 20).join(' ');
  return { invariant, detail: `${robot} counter ${counter}: ${values.length} values: ${shown}` };
}
