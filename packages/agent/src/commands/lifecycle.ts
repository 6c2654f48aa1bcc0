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
 * `done` is final: the first outcome stands. After a restart of the agent `waiting` is the only state that may be run; a
 * goal in `running` or `stopping` is in it again and followed by its id (goal.ts has its inner states), a message or a
 * call is outcome_unknown.
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
