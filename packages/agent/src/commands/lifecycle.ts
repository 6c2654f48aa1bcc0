import type { CommandInterface } from '@drover/shared/link/command';

/**
 * A command on the robot, from the moment it is on disk:
 *
 *               start                 end
 *     waiting ---------> running ------------------> done
 *        |                  |                         ^
 *        | cancel, late     | cancel (a goal only)    |
 *        |                  +-------> stopping -------+
 *        +--------------------------------------------+
 *
 * `done` is final: the first outcome stands. `running` and `stopping` are the states a crash turns into
 * outcome_unknown; `waiting` is the only one that may be run after it.
 */
export type CommandState = 'waiting' | 'running' | 'stopping' | 'done';

/**
 * `start`: handed on to be run. `cancel`: the cloud asks to stop it. `late`: its deadline passed before it started.
 * `end`: it ended, well or not.
 */
export type CommandEvent = 'start' | 'cancel' | 'late' | 'end';

const TRANSITIONS: Readonly<Record<CommandState, Partial<Record<CommandEvent, CommandState>>>> = {
  waiting: { start: 'running', cancel: 'done', late: 'done', end: 'done' },
  running: { cancel: 'stopping', end: 'done' },
  stopping: { end: 'done' },
  done: {},
};

/** The state after an event; null where the event changes nothing (too late, or not possible for this interface). */
export function nextState(state: CommandState, event: CommandEvent, kind: CommandInterface): CommandState | null {
  if (event === 'cancel' && state === 'running' && kind !== 'action_send_goal') return null;
  return TRANSITIONS[state][event] ?? null;
}
