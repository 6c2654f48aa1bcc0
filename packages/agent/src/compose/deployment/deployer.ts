import { setTimeout as sleep } from 'node:timers/promises';
import type { Desired } from '@drover/shared/link/desired';
import type { Logger } from 'pino';
import { diskTrouble } from '../disk-trouble.js';
import type { ComposeCli } from '../docker/cli.js';
import type { Engine } from '../docker/engine.js';
import { EngineRefusedError, EngineUnavailableError } from '../docker/engine-error.js';
import type { Observer } from '../docker/observer.js';
import { DeployError } from '../document/deploy-error.js';
import type { Applier, Scope } from './applier.js';
import { ImageMissingError, planFailure } from './plan.js';
import type { Progress } from './progress.js';
import type { DownTask, GoodVersion, Problem, StateFile, UpTask } from './state-file.js';
import { taskOf } from './task.js';
import { UpdateLockError } from './update-lock.js';
import { Upkeep } from './upkeep.js';

/** An engine that is away is asked again after this long, twice as long each time. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 10_000;
const MESSAGE_LENGTH_MAX = 4096;
/** Of those carried out, so many are remembered. */
const REMOVALS_MAX = 100;

export interface DeployerParts {
  readonly state: StateFile;
  readonly cli: ComposeCli;
  readonly engine: Engine;
  readonly observer: Observer;
  readonly applier: Applier;
  readonly progress: Progress;
  readonly wallNow: () => number;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  readonly log: Logger;
}

/**
 * Makes the engine run what is assigned, one thing at a time:
 *
 *     up:    deploy --healthy--> done (up)
 *              \--failed--> bring_back (the last good version, or nothing) --> done (error)
 *     down:  deploy --> done
 *
 * Where a task stands is on disk before each step that matters, so that the next agent goes on after a kill -9. A new task ends the
 * running step; what it leaves half-done is what the new one begins with. What has failed is not tried again, an engine that is
 * away is waited for, and when it comes back (or the agent does) what was healthy is put back in its place.
 */
export class Deployer {
  readonly #parts: DeployerParts;
  readonly #log: Logger;
  #robot = '';
  readonly #upkeep: Upkeep;
  #lossesSeen = 0;
  #current: AbortController | null = null;
  #stopping = false;
  #running: Promise<void> | null = null;
  #wake: () => void = () => {};

  constructor(parts: DeployerParts) {
    this.#parts = parts;
    this.#log = parts.log;
    this.#upkeep = new Upkeep(parts, () => this.#wake());
  }

  /** What the desired state says of compose; the newest counts. */
  apply(wanted: Pick<Desired, 'compose' | 'compose_removal'>, robot: string): void {
    this.#robot = robot;
    const { state, progress } = this.#parts;
    const before = state.state.task;
    const task = taskOf(wanted, state.state);
    if (task === 'same') this.#upkeep.ask();
    else {
      // What was being taken away is not brought back, whatever becomes of the new one.
      const isLeft = before?.kind === 'down' && before.stage !== 'done';
      state.set({ task, ...(isLeft && { good: null, is_mixed: state.state.is_touched }) });
      this.#log.info({ task: task.kind, assignment: task.assignment }, 'a compose deployment begins');
      this.#current?.abort();
      progress.setUnavailable(null);
      progress.setImages([]);
    }
    if (state.state.task !== null) this.#begin();
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#upkeep.stop();
    this.#current?.abort();
    this.#wake();
    await this.#running;
    await this.#parts.observer.stop();
  }

  /** Not before there is something to do: a robot without compose needs no engine. */
  #begin(): void {
    if (this.#running || this.#stopping) return;
    const { observer, progress } = this.#parts;
    observer.onChange(() => {
      if (observer.losses === this.#lossesSeen) return this.#upkeep.changed();
      this.#lossesSeen = observer.losses;
      progress.setUnsure(true);
      this.#upkeep.askAfterAbsence();
    });
    progress.setUnsure(true);
    this.#upkeep.askAfterAbsence();
    observer.start();
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    const left = await this.#parts.cli.endLeftovers();
    if (left > 0) this.#log.warn({ processes: left }, 'ended what an agent before this one had left running');
    let retryMs = RETRY_MS_MIN;
    while (!this.#stopping) {
      const work = this.#next();
      if (work === null) await this.#newWork();
      else if (await this.#perform(work, retryMs)) retryMs = RETRY_MS_MIN;
      else retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
    }
  }

  async #newWork(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#stopping || this.#next() !== null) resolve();
    });
  }

  /** @returns false where the engine can't be used; that time has then passed. */
  async #perform(work: (scope: Scope) => Promise<void>, retryMs: number): Promise<boolean> {
    const { progress } = this.#parts;
    const aborter = new AbortController();
    this.#current = aborter;
    const scope: Scope = { signal: aborter.signal, ends: [], isLocked: false };
    try {
      await work(scope);
      progress.setUnavailable(null);
      return true;
    } catch (error) {
      if (aborter.signal.aborted) return true;
      const words = error instanceof Error ? error.message : String(error);
      const message = diskTrouble(error, this.#parts.cli.directory) ?? words;
      if (!(error instanceof EngineUnavailableError)) this.#log.error({ err: error }, 'a deployment stopped short');
      else if (progress.unavailable === null) this.#log.warn(message);
      // What it holds is free while it waits.
      for (const end of scope.ends.splice(0)) end();
      progress.setUnavailable(message.slice(0, MESSAGE_LENGTH_MAX));
      progress.setPhase('idle');
      await sleep(retryMs, undefined, { signal: aborter.signal, ref: false }).catch(() => {});
      return false;
    } finally {
      for (const end of scope.ends) end();
      this.#current = null;
      if (!this.#upkeep.isDue) progress.setUnsure(false);
      progress.setPhase('idle');
    }
  }

  #next(): ((scope: Scope) => Promise<void>) | null {
    const { task, good } = this.#parts.state.state;
    if (task === null) return null;
    if (task.kind === 'down') return task.stage === 'done' ? null : (scope) => this.#takeDown(task, scope);
    if (task.stage !== 'done') return (scope) => this.#bringUp(task, scope);
    return this.#upkeep.isDue && good !== null ? (scope) => this.#keep(good, scope) : null;
  }

  async #bringUp(task: UpTask, scope: Scope): Promise<void> {
    if (task.stage === 'bring_back') return await this.#bringBack(task, scope);
    const { state, applier } = this.#parts;
    const how = { purpose: 'deploy', pins: {}, locked: !task.override_lock } as const;
    const { id, version } = task.version;
    const problem = await this.#attempt(scope, async () => {
      this.#upkeep.begin();
      const images = await applier.up(task.version, how, this.#robot, scope);
      await this.#upkeep.noteEnds();
      scope.signal.throwIfAborted();
      const good = { ...task.version, images };
      state.set({ task: { ...task, stage: 'done', problem: null }, good, good_problem: null, is_mixed: false });
      this.#log.info({ compose: id, version }, 'a compose file is up');
    });
    if (problem === null) return this.#upkeep.end(applier.services, false);
    const fate = planFailure(state.state);
    const failed: UpTask = { ...task, stage: fate === 'leave' ? 'done' : 'bring_back', problem };
    state.set({ task: failed });
    this.#log.warn({ compose: id, version, code: problem.code, fate }, `a compose file failed: ${problem.message}`);
    if (fate === 'leave') this.#upkeep.ask();
    else await this.#bringBack(failed, scope);
  }

  /** What was there before the version that failed: the last good one, or nothing. */
  async #bringBack(task: UpTask, scope: Scope): Promise<void> {
    const { state, applier, progress } = this.#parts;
    progress.setPhase('rolling_back');
    const { good } = state.state;
    const locked = !task.override_lock;
    const problem = await this.#attempt(scope, async () => {
      this.#upkeep.begin();
      if (good === null) await applier.down({ volumes: false, locked }, this.#robot, scope);
      else await applier.up(good, { purpose: 'bring_back', pins: good.images, locked }, this.#robot, scope);
      await this.#upkeep.noteEnds();
      scope.signal.throwIfAborted();
      state.set({ is_mixed: false, good_problem: null });
    });
    const why = task.problem;
    const both = why !== null && problem !== null ? { ...why, message: withSequel(why.message, problem.message) } : why;
    state.set({ task: { ...task, stage: 'done', problem: both } });
    if (good !== null) this.#upkeep.end(applier.services, problem !== null);
  }

  async #takeDown(task: DownTask, scope: Scope): Promise<void> {
    const { state, applier, progress } = this.#parts;
    const options = { volumes: task.volumes, locked: !task.override_lock };
    this.#upkeep.begin();
    const failure = await this.#attempt(scope, async () => {
      await applier.down(options, this.#robot, scope);
      scope.signal.throwIfAborted();
    });
    if (failure !== null) {
      const problem: Problem = { ...failure, code: 'stop_failed' };
      this.#log.warn({ code: problem.code }, `a compose file can not be taken down: ${problem.message}`);
      return state.set({ task: { ...task, stage: 'done', problem } });
    }
    // Volumes that stay can still be asked for.
    const nothing = {
      removals: [...state.state.removals, task.assignment].slice(-REMOVALS_MAX),
      good: null,
      good_problem: null,
      ended: [],
      is_touched: state.state.is_touched && !task.volumes,
      is_mixed: false,
    };
    state.set({ task: { ...task, stage: 'done', problem: null }, ...nothing });
    progress.setImages([]);
    this.#log.info('the compose file is down');
  }

  /** Puts what was healthy back in its place, where it is not there any more. */
  async #keep(good: GoodVersion, scope: Scope): Promise<void> {
    const { applier, state } = this.#parts;
    this.#upkeep.begin();
    try {
      const problem = await this.#attempt(scope, async () => {
        // What is there by name may be of the version that failed; to replace that is a change, which waits for the robot's programs.
        const { is_mixed: isMixed, task } = state.state;
        const locked = task?.override_lock !== true;
        if (isMixed) await applier.up(good, { purpose: 'bring_back', pins: good.images, locked }, this.#robot, scope);
        else await applier.keep(good, this.#robot, scope);
        await this.#upkeep.noteEnds();
      });
      if (problem !== null) this.#log.warn({ compose: good.id }, `what was up is not any more: ${problem.message}`);
      state.set({ good_problem: problem, ...(problem === null && { is_mixed: false }) });
      this.#upkeep.end(applier.services, problem !== null);
    } catch (error) {
      this.#upkeep.broken();
      throw error;
    }
  }

  /**
   * @returns why it failed for good; null = it did not.
   * @throws EngineUnavailableError where the engine was lost, whatever it looked like, and what the signal ends.
   */
  async #attempt(scope: Scope, action: () => Promise<void>): Promise<Problem | null> {
    const { observer, engine, wallNow } = this.#parts;
    const losses = observer.losses;
    try {
      await action();
      return null;
    } catch (error) {
      scope.signal.throwIfAborted();
      const failure = failureOf(error);
      if (failure === null) throw error;
      const { code, message, words } = failure;
      if (code !== 'invalid_compose_file' && code !== 'not_allowed') {
        await engine.ping();
        // Another task may have come meanwhile: what is said of this one would be written over it.
        scope.signal.throwIfAborted();
        if (observer.losses !== losses) {
          throw new EngineUnavailableError('the Docker Engine went away', { cause: error });
        }
      }
      return { code, message: message.slice(0, MESSAGE_LENGTH_MAX), words, at_ms: wallNow() };
    }
  }
}

function withSequel(why: string, sequel: string): string {
  const half = MESSAGE_LENGTH_MAX / 2 - 100;
  return `${why.slice(0, half)}; and what was there before could not be brought back: ${sequel.slice(0, half)}`;
}

/** Errors after which a version has failed; null: it is another kind of error. */
function failureOf(error: unknown): DeployError | null {
  if (error instanceof DeployError) return error;
  if (error instanceof ImageMissingError) return new DeployError('image_pull_failed', error.message);
  if (error instanceof UpdateLockError) return new DeployError('start_failed', error.message);
  if (error instanceof EngineRefusedError) return new DeployError('start_failed', error.message, error.message);
  return null;
}
