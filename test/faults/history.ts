/** What was seen of a round, from both ends; the invariants are computed from it and nothing else. */

export interface History {
  readonly robots: readonly RobotHistory[];
  readonly commands: readonly CommandHistory[];
  /** Processes that ended though nobody ended them, in words. */
  readonly crashes: readonly string[];
}

export interface RobotHistory {
  readonly robot: string;
  /** Those of this round: the one it began with, and those since. */
  readonly lives: readonly Life[];
  /** What commands did, where they did it, in any life. */
  readonly effects: readonly Effect[];
  /** By counter (from 0): the values the cloud holds, in the order in which it stored them. */
  readonly stored: readonly (readonly number[])[];
  /** By counter: `num_recordings` as the API tells it, and what was stored right before and after; null where not asked. */
  readonly counted: readonly { readonly before: number; readonly told: number; readonly after: number }[] | null;
  /** By what the cloud says, and what the robot does: sources with their rate. */
  readonly wanted: readonly string[];
  readonly collected: readonly string[];
}

/** One run of a robot's process. */
export interface Life {
  readonly number: number;
  readonly end: 'killed' | 'stopped' | 'last';
  /** What it published up to here was looked at in the round before; what it published after `dueTo` had no time to arrive. */
  readonly dueAfter: number;
  readonly dueTo: number;
  /** By counter: every value published while the agent was subscribed. */
  readonly published: readonly (readonly number[])[];
}

export interface Effect {
  readonly interface: 'topic' | 'service' | 'action_send_goal';
  readonly id: number;
  /** The machine's monotonic clock, milliseconds. */
  readonly atMs: number;
}

export interface CommandHistory {
  readonly id: number;
  readonly robot: string;
  readonly interface: Effect['interface'];
  /** The uuids that POSTs for it were answered with. */
  readonly answered: readonly string[];
  /** What the cloud holds of it at the end. */
  readonly rows: readonly CommandRow[];
}

export interface CommandRow {
  readonly uuid: string;
  readonly state: string;
  readonly errorCode: string | null;
  /** The end of its life: it may not begin to act later than this, by the clock of the effects. */
  readonly deadlineMs: number;
}

export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}
