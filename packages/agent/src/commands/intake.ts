import type { Command } from '@drover/shared/link/command';
import type { Logger } from 'pino';
import type { RosGraph } from '../ros/graph.js';
import type { Inbox } from '../spool/inbox.js';
import { Job } from './job.js';

/** What the intake does not decide itself. */
export interface IntakePorts {
  readonly inbox: Inbox;
  readonly graph: Pick<RosGraph, 'names'>;
  /** Answers a command that was seen before; false where it is new. */
  answerKnown(uuid: string): boolean;
  /** Why a new command can not be taken, or null. */
  refusal(job: Job, alreadyTaking: number): { code: 'expired' | 'internal_error'; message: string } | null;
  refuse(job: Job, code: 'expired' | 'internal_error' | 'robot_storage_failed', message: string): void;
  /** How many jobs of this one's name would be started at once. */
  room(job: Job): number;
  /** Whether it waits for nothing once it is started: those behind it are not started before. */
  startsAtOnce(job: Job): boolean;
  /** The job is on disk. */
  taken(job: Job): void;
  newGoalId(): Uint8Array;
  monotonicNow(): number;
  wallNow(): number;
  readonly log: Logger;
}

/**
 * The door: brings commands to disk before anything else is done with them. Those that come in one turn of the event
 * loop share one transaction, so that a burst costs one sync of the disk.
 */
export class Intake {
  readonly #ports: IntakePorts;
  #arrivals: { command: Command; receivedMs: number }[] = [];

  constructor(ports: IntakePorts) {
    this.#ports = ports;
  }

  add(command: Command): void {
    this.#arrivals.push({ command, receivedMs: this.#ports.monotonicNow() });
    if (this.#arrivals.length === 1) queueMicrotask(() => this.flush());
  }

  /** Takes what has come, now. */
  flush(): void {
    const arrivals = this.#arrivals;
    this.#arrivals = [];
    const fresh: Job[] = [];
    for (const { command, receivedMs } of arrivals) {
      if (fresh.some((job) => job.uuid === command.uuid) || this.#ports.answerKnown(command.uuid)) continue;
      const goalId = command.interface === 'action_send_goal' ? this.#ports.newGoalId() : null;
      const job = new Job(command, this.#ports.graph.names.resolve(command.name), 0, goalId, false, receivedMs);
      const refusal = this.#ports.refusal(job, fresh.length);
      if (refusal) this.#ports.refuse(job, refusal.code, refusal.message);
      else fresh.push(job);
    }
    if (fresh.length > 0) this.#take(fresh);
  }

  #take(jobs: readonly Job[]): void {
    const { inbox, log, wallNow } = this.#ports;
    // Those that are started at once are taken as running, which spares them a write before their start. No other is: killed before
    // its start it would end as one that may have come about.
    const left = new Map<string, number>();
    for (const job of jobs) {
      const lane = `${job.kind} ${job.name}`;
      const room = left.get(lane) ?? this.#ports.room(job);
      job.isRunningOnDisk = room > 0;
      left.set(lane, this.#ports.startsAtOnce(job) ? room - 1 : 0);
    }
    let numbers: number[];
    try {
      const requests = jobs.map((job) => ({
        command: job.command,
        running: job.isRunningOnDisk,
        goalId: job.goalIdHex,
      }));
      numbers = inbox.take(requests, wallNow());
    } catch (error) {
      log.error({ err: error, commands: jobs.length }, 'commands can not be stored; refused');
      const reason = error instanceof Error ? error.message : String(error);
      for (const job of jobs) this.#ports.refuse(job, 'robot_storage_failed', `the robot's disk refused it: ${reason}`);
      return;
    }
    for (const [index, job] of jobs.entries()) {
      job.seq = numbers[index] ?? 0;
      this.#ports.taken(job);
    }
  }
}
