import type { Command } from '@drover/shared/link/command';
import type { Logger } from 'pino';
import type { CloudClock } from '../link/cloud-clock.js';
import type { Uplink } from '../link/link.js';
import type { Policy } from '../policy/policy.js';
import type { RosGraph } from '../ros/graph.js';
import type { Inbox, RunningGoal, TakenCommand } from '../spool/inbox.js';
import { type GoalOptions, pursueGoal, resumeGoal } from './goal.js';
import { Intake } from './intake.js';
import { Job } from './job.js';
import { nextState } from './lifecycle.js';
import { type Ending, failed, failureOf, outcomeMessage } from './outcome.js';
import { OutcomeBox } from './outcome-box.js';
import { call, publish, TIMED_OUT, within } from './perform.js';
import { type Prepared, prepare } from './prepare.js';
import { JobQueues } from './queues.js';
import { Takes } from './takes.js';

/** Commands in memory at once; one more is refused. */
export const JOBS_MAX = 2_000;
/** Waiting commands are looked through this often for those whose deadline has passed. */
const SWEEP_INTERVAL_MS = 1_000;
/** What was delivered long ago is removed this often. */
const PRUNE_INTERVAL_MS = 3_600_000;
/** How long stop() waits for running topics and services. */
const STOP_GRACE_MS = 2_000;

export interface CommandRunnerOptions {
  readonly graph: RosGraph;
  /** Asked right before a command starts, so that it also binds those that waited from before a restart. */
  readonly policy: Policy;
  readonly inbox: Inbox;
  readonly clock: CloudClock;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  readonly wallNow: () => number;
  /** 16 random bytes. */
  readonly newGoalId: () => Uint8Array;
  readonly log: Logger;
}

/**
 * Runs the cloud's commands on the robot, each at most once and never late.
 *
 * A command is on disk before it is acknowledged (`command_taken`) and before it has any effect; one seen before is
 * answered from what is known of it. Deadlines are the cloud's, checked at arrival and again right before the start.
 * Overload: JOBS_MAX in memory, in order per name (queues.ts). stop(): what waits stays on disk for the next start, what
 * runs ends or becomes outcome_unknown then, goals are followed on. A restart: recover().
 */
export class CommandRunner {
  readonly #options: CommandRunnerOptions;
  readonly #log: Logger;
  readonly #outcomes: OutcomeBox;
  readonly #takes = new Takes();
  readonly #jobs = new Map<string, Job>();
  readonly #queues: JobQueues<Job>;
  readonly #intake: Intake;
  readonly #running = new Set<Promise<void>>();
  /** Types of commands that were fitted to them: the graph has their definitions at hand. */
  readonly #knownTypes = new Set<string>();
  /** Found waiting on disk at the start; not run before the cloud's clock is known, and that the inbox is no old copy. */
  #recovered: TakenCommand[] = [];
  #uplink: Uplink | null = null;
  #stopped = false;
  #pruneDueMs = Number.NEGATIVE_INFINITY;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(options: CommandRunnerOptions) {
    this.#options = options;
    this.#log = options.log.child({ part: 'commands' });
    this.#outcomes = new OutcomeBox({
      inbox: options.inbox,
      cloudNow: () => options.clock.cloudNow()?.ms ?? null,
      log: this.#log,
    });
    this.#queues = new JobQueues((job, release) => this.#start(job, release));
    this.#intake = new Intake({
      ...options,
      log: this.#log,
      answerKnown: (uuid) => this.#answerKnown(uuid),
      refusal: (job, alreadyTaking) => this.#refusal(job, alreadyTaking),
      refuse: (job, code, message) => this.#tell(job, failed(code, message)),
      room: (job) => this.#queues.room(job),
      startsAtOnce: (job) => this.#knownTypes.has(job.command.type),
      taken: (job) => this.#taken(job),
    });
  }

  /** Reads what the last run of the agent left behind. To be called once, before the first session. */
  recover(): void {
    const { waiting, goals, ended, unreadable } = this.#options.inbox.recover(this.#options.wallNow());
    for (const outcome of [...ended, ...unreadable]) {
      this.#log.warn({ command: outcome.uuid, error_code: outcome.error_code }, outcome.message ?? '');
    }
    for (const outcome of ended) this.#outcomes.add(outcome);
    for (const outcome of unreadable) this.#outcomes.add(outcome, { waitsOnDisk: true });
    if (waiting.length > 0) this.#log.info({ commands: waiting.length }, 'commands wait from before');
    this.#recovered = waiting;
    for (const goal of goals) this.#followOn(goal);
    this.#timers.push(
      setInterval(() => {
        this.#sweep();
        this.#prune();
      }, SWEEP_INTERVAL_MS),
    );
  }

  /** The inbox was another robot's and is set aside: what it held is not to be run or told here. */
  forget(): void {
    this.#recovered = [];
    for (const job of this.#jobs.values()) {
      this.#queues.remove(job);
      job.state = 'done';
    }
    this.#jobs.clear();
    this.#outcomes.forget();
  }

  /** The inbox is a copy: another may have run what waits in it, so that is not run here. What runs goes on. */
  dropWaiting(): void {
    this.#recovered = [];
    for (const job of this.#jobs.values()) {
      if (job.state !== 'waiting') continue;
      this.#queues.remove(job);
      job.state = 'done';
      this.#jobs.delete(job.uuid);
    }
  }

  opened(uplink: Uplink): void {
    this.#uplink = this.#takes.opened(uplink);
    this.#outcomes.opened(this.#uplink);
    const recovered = this.#recovered;
    this.#recovered = [];
    const { graph, monotonicNow } = this.#options;
    const receivedMs = monotonicNow();
    for (const { seq, command } of recovered) {
      const goalId = command.interface === 'action_send_goal' ? this.#options.newGoalId() : null;
      // Its remaining life was counted from a moment before the restart: only the deadline can be trusted.
      this.#enqueue(
        new Job({ ...command, life_ms: 0 }, graph.names.resolve(command.name), seq, goalId, false, receivedMs),
      );
    }
  }

  closed(): void {
    this.#uplink = null;
    this.#takes.closed();
    this.#outcomes.closed();
  }

  /** A command came. */
  receive(command: Command): void {
    if (!this.#stopped) this.#intake.add(command);
  }

  /** Stops a command that waits, or a goal; anything else goes on. */
  cancel(uuid: string): void {
    // The command may have come in the same turn.
    this.#intake.flush();
    const job = this.#jobs.get(uuid);
    if (!job) return void this.#log.debug({ command: uuid }, 'cancel of a command that is not here');
    const next = nextState(job.state, 'cancel', job.command.interface);
    if (next === 'done') {
      this.#queues.remove(job);
      this.#end(job, failed('canceled', 'cancelled before it started'));
    } else if (next !== null) {
      job.state = next;
      job.cancelled.abort();
      this.#noteCancel(job);
    }
  }

  /** The cloud has the outcome. */
  outcomeStored(uuid: string): void {
    this.#outcomes.acknowledge(uuid);
  }

  /** Takes nothing more, lets what runs end for a moment, writes what is to be written. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    const timeout = new Promise((resolve) => setTimeout(resolve, STOP_GRACE_MS).unref());
    await Promise.race([Promise.allSettled(this.#running), timeout]);
    this.#outcomes.close();
    this.#takes.flush();
  }

  /** True where the command was seen before (or can't be told): it is answered, not run. */
  #answerKnown(uuid: string): boolean {
    const job = this.#jobs.get(uuid);
    if (job) {
      this.#sayTaken(job.uuid, job.seq);
      return true;
    }
    if (this.#outcomes.isEnding(uuid)) return true;
    const unstored = this.#outcomes.unstored(uuid);
    if (unstored) {
      this.#outcomes.resend(unstored);
      return true;
    }
    try {
      const entry = this.#options.inbox.find(uuid);
      if (entry?.state === 'done') this.#outcomes.resend(entry.outcome);
      else if (entry) this.#sayTaken(uuid, entry.seq);
      return entry !== null;
    } catch (error) {
      // It may be one that has run. Silence lets the cloud end it; anything said could be wrong.
      this.#log.error({ err: error, command: uuid }, 'the inbox can not be read; command not taken');
      return true;
    }
  }

  #refusal(job: Job, alreadyTaking: number): { code: 'expired' | 'internal_error'; message: string } | null {
    if (this.#isLate(job)) return { code: 'expired', message: 'its deadline had passed when it came' };
    if (this.#jobs.size + alreadyTaking < JOBS_MAX) return null;
    return { code: 'internal_error', message: `${JOBS_MAX} commands wait or run on this robot already` };
  }

  #taken(job: Job): void {
    this.#sayTaken(job.uuid, job.seq);
    const { uuid: command, kind, name } = job;
    // What it does comes first: what follows are microtasks.
    setImmediate(() => this.#log.info({ command, interface: kind, name, type: job.command.type }, 'command taken'));
    this.#enqueue(job);
  }

  #enqueue(job: Job): void {
    this.#jobs.set(job.uuid, job);
    this.#queues.add(job);
  }

  #start(job: Job, release: () => void): Promise<void> {
    const preparing = this.#prepare(job);
    const running = preparing
      .then((prepared) => prepared && this.#perform(job, prepared, release))
      .catch((error: unknown) => failureOf(error))
      .then((ending) => {
        if (ending) this.#end(job, ending);
        release();
        this.#running.delete(running);
      });
    // Goals outlive the agent's stop.
    if (job.kind !== 'action_send_goal') this.#running.add(running);
    return preparing.then(() => {});
  }

  /** A goal from before a restart: at once, whether or not there is a connection, for its deadline counts on. */
  #followOn(found: RunningGoal): void {
    const { graph, monotonicNow, wallNow } = this.#options;
    const job = Job.ofRunningGoal(found, graph.names.resolve(found.command.name), monotonicNow());
    this.#jobs.set(job.uuid, job);
    this.#log.info({ command: job.uuid, name: job.name }, 'a goal from before is followed on');
    resumeGoal(graph, {
      ...this.#goalOptions(job, () => {}),
      name: job.name,
      type: job.command.type,
      // A wall clock that was set back must not give it more time than it ever had.
      spentMs: Math.max(0, wallNow() - found.startedAtMs),
    })
      .catch((error: unknown) => failureOf(error))
      .then((ending) => ending && this.#end(job, ending));
  }

  /** Losing this costs the cancel only where the agent ends before the goal does and the cloud does not ask again. */
  #noteCancel(job: Job): void {
    try {
      this.#options.inbox.askCancel(job.uuid);
    } catch (error) {
      this.#log.error({ err: error, command: job.uuid }, 'a cancel can not be stored');
    }
  }

  #goalOptions(job: Job, onAccepted: () => void): GoalOptions {
    return {
      goalId: job.goalId ?? this.#options.newGoalId(),
      timeoutMs: job.command.timeout_ms,
      cancel: job.cancelled.signal,
      onAccepted,
      onFeedback: (feedback) => {
        if (job.state !== 'done') this.#uplink?.send({ kind: 'command_feedback', uuid: job.uuid, feedback }, job.uuid);
      },
    };
  }

  /** Brings a job to where only ROS is left to be called; null where it ended before. */
  async #prepare(job: Job): Promise<Prepared | null> {
    if (this.#stopped) return null;
    if (this.#isLate(job)) {
      this.#end(job, failed('expired', 'its deadline passed while it waited for those before it'));
      return null;
    }
    try {
      if (!job.isRunningOnDisk) {
        const { inbox, wallNow } = this.#options;
        // With how the one before it ended, as a rule.
        this.#outcomes.writeWith(() => inbox.start(job.uuid, job.goalIdHex, wallNow()));
        // Once more: a copy of the inbox in which it still waits is an old one from here on, and the cloud knows it.
        this.#sayTaken(job.uuid, job.seq);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#end(job, failed('robot_storage_failed', `the robot's disk refused it: ${reason}`));
      return null;
    }
    job.state = nextState(job.state, 'start', job.kind) ?? job.state;
    try {
      const prepared = await within(
        prepare(this.#options.graph, this.#options.policy, job.command),
        job.command.timeout_ms,
      );
      if (prepared !== TIMED_OUT) {
        this.#knownTypes.add(job.command.type);
        return prepared;
      }
      this.#end(job, failed('timeout', 'the definition of its type was not found out in time'));
      return null;
    } catch (error) {
      const ending = failureOf(error);
      if (ending) this.#end(job, ending);
      return null;
    }
  }

  async #perform(job: Job, prepared: Prepared, release: () => void): Promise<Ending> {
    const { graph } = this.#options;
    const { type, latched, timeout_ms: timeoutMs } = job.command;
    switch (prepared.kind) {
      case 'topic':
        return await publish(graph, prepared, { type, latched, timeoutMs });
      case 'service':
        return await call(graph, prepared, timeoutMs);
      case 'action_send_goal':
        return await pursueGoal(graph, prepared, this.#goalOptions(job, release));
    }
  }

  #sweep(): void {
    for (const job of this.#jobs.values()) {
      if (nextState(job.state, 'late', job.kind) === null || !this.#isLate(job)) continue;
      this.#queues.remove(job);
      this.#end(job, failed('expired', 'its deadline passed while it waited for those before it'));
    }
  }

  /** By the cloud's clock, so not before that is known. */
  #prune(): void {
    const { inbox, clock, monotonicNow } = this.#options;
    const cloud = clock.cloudNow();
    if (!cloud || monotonicNow() < this.#pruneDueMs) return;
    this.#pruneDueMs = monotonicNow() + PRUNE_INTERVAL_MS;
    try {
      inbox.prune(cloud.ms);
    } catch (error) {
      this.#log.error({ err: error }, 'the inbox can not be pruned');
    }
  }

  #end(job: Job, ending: Ending): void {
    const state = nextState(job.state, 'end', job.kind);
    if (state === null) return;
    const waitsOnDisk = job.state === 'waiting' && !job.isRunningOnDisk;
    job.state = state;
    this.#jobs.delete(job.uuid);
    // With nothing else on its way, there is nothing that its end could share a write with.
    this.#tell(job, ending, { waitsOnDisk, alone: this.#jobs.size === 0 });
  }

  #tell(job: Job, ending: Ending, how: { waitsOnDisk?: boolean; alone?: boolean } = {}): void {
    const { state, error_code, message } = ending;
    this.#outcomes.add(outcomeMessage(job.uuid, ending, this.#options.wallNow()), how);
    // What was sent leaves with the end of this turn: a line takes longer to write.
    setImmediate(() => this.#log.info({ command: job.uuid, state, error_code, reason: message }, 'command ended'));
  }

  #sayTaken(uuid: string, seq: number): void {
    this.#takes.add({ kind: 'command_taken', uuid, seq, inbox_version: this.#options.inbox.version });
  }

  /** Whether the deadline may have passed: in doubt it has, since a late command is worse than a refused one. */
  #isLate(job: Job): boolean {
    const cloud = this.#options.clock.cloudNow();
    if (cloud) return cloud.ms + cloud.uncertaintyMs > job.command.deadline_cloud_ms;
    return this.#options.monotonicNow() - job.receivedMs > job.command.life_ms;
  }
}
