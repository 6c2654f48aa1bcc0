import type { Command, CommandInterface } from '@drover/shared/link/command';
import type { RunningGoal } from '../spool/inbox.js';
import type { CommandState } from './lifecycle.js';

/** A command in the agent's memory. */
export class Job {
  state: CommandState = 'waiting';
  /** Aborted when the cloud cancels a goal. */
  readonly cancelled = new AbortController();
  readonly kind: CommandInterface;

  constructor(
    readonly command: Command,
    /** The absolute ROS name it acts on. */
    readonly name: string,
    /** Its number in the inbox. */
    public seq: number,
    /** 16 bytes; goals only. */
    readonly goalId: Uint8Array | null,
    /** The disk says `running` already: a crash from here on makes it outcome_unknown. */
    public isRunningOnDisk: boolean,
    /** Monotonic milliseconds. */
    readonly receivedMs: number,
  ) {
    this.kind = command.interface;
  }

  /** A goal that an earlier run of the agent began; nothing of it is to be done but to follow it. */
  static ofRunningGoal(found: RunningGoal, name: string, receivedMs: number): Job {
    const job = new Job(found.command, name, found.seq, Buffer.from(found.goalId, 'hex'), true, receivedMs);
    job.state = found.cancelAsked ? 'stopping' : 'running';
    if (found.cancelAsked) job.cancelled.abort();
    return job;
  }

  get uuid(): string {
    return this.command.uuid;
  }

  get goalIdHex(): string | null {
    return this.goalId && Buffer.from(this.goalId).toString('hex');
  }
}
