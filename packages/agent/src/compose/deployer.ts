import { setTimeout as sleep } from 'node:timers/promises';
import type { ComposeImage, ComposePhase } from '@drover/shared/link/compose-status';
import type { Desired as DesiredDocument } from '@drover/shared/link/desired';
import type { Logger } from 'pino';
import { CliAbortedError, type ComposeCli } from './cli.js';
import type { Container } from './container.js';
import { DeployError } from './deploy-error.js';
import { makeDeployable, type Owner, type Prepare } from './deployable.js';
import type { Engine } from './engine.js';
import { EngineRefusedError, EngineUnavailableError } from './engine-error.js';
import type { Executor, Run } from './executor.js';
import type { Observer } from './observer.js';
import { type Desired, ImageMissingError, plan, planFailure, type Step } from './plan.js';
import type { Service } from './services.js';
import type { DownTask, GoodVersion, Problem, StateFile, UpTask, Version } from './state-file.js';
import { taskOf } from './task.js';
import { UpdateLockError } from './update-lock.js';

/** An engine that is away is asked again after this long, twice as long each time. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 10_000;

export interface DeployerParts {
  readonly state: StateFile;
  readonly cli: ComposeCli;
  readonly engine: Engine;
  readonly observer: Observer;
  readonly executor: Executor;
  readonly prepare: Prepare;
  /** Where documents are written for compose. */
  readonly directory: string;
  readonly wallNow: () => number;
  readonly log: Logger;
}

/** What the deployer is at, beside what its state file says. */
export interface Activity {
  readonly phase: ComposePhase;
  readonly heldBy: string | null;
  readonly images: readonly ComposeImage[];
  /** Why the engine can't be used; null = it can, as far as is known. */
  readonly unavailable: string | null;
}

/** A run of a task from its beginning to its end, or until it is aborted. */
interface Scope {
  readonly signal: AbortSignal;
  readonly ends: (() => void)[];
  isLocked: boolean;
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
  readonly #listeners = new Set<() => void>();
  readonly #images = new Map<string, ComposeImage>();
  #robot = '';
  #phase: ComposePhase = 'idle';
  #heldBy: string | null = null;
  #unavailable: string | null = null;
  #isKeepDue = true;
  #lossesSeen = 0;
  /** Of the good version, so that a look whether it is there needs no compose. */
  #goodServices: { readonly of: GoodVersion; readonly services: readonly Service[] } | null = null;
  #current: AbortController | null = null;
  #stopping = false;
  #running: Promise<void> | null = null;
  #wake: () => void = () => {};

  constructor(parts: DeployerParts) {
    this.#parts = parts;
    this.#log = parts.log;
  }

  get activity(): Activity {
    const images = [...this.#images.values()];
    return { phase: this.#phase, heldBy: this.#heldBy, images, unavailable: this.#unavailable };
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** What the desired state says of compose; the newest counts. */
  apply(wanted: Pick<DesiredDocument, 'compose' | 'compose_removal'>, robot: string): void {
    this.#robot = robot;
    const { state } = this.#parts;
    const task = taskOf(wanted, state.state.task);
    if (task === 'same') this.#isKeepDue = true;
    else {
      state.set({ task });
      this.#images.clear();
      this.#log.info({ task: task.kind, assignment: task.assignment }, 'a compose deployment begins');
      this.#current?.abort();
      this.#tell();
    }
    if (state.state.task !== null) this.#begin();
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#current?.abort();
    this.#wake();
    await this.#running;
    await this.#parts.observer.stop();
  }

  /** Not before there is something to do: a robot without compose needs no engine. */
  #begin(): void {
    if (this.#running || this.#stopping) return;
    const { observer } = this.#parts;
    observer.onChange(() => {
      if (observer.losses !== this.#lossesSeen) {
        this.#lossesSeen = observer.losses;
        this.#isKeepDue = true;
        this.#wake();
      }
    });
    observer.start();
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    const left = await this.#parts.cli.endLeftovers();
    if (left > 0) this.#log.warn({ processes: left }, 'ended what an agent before this one had left running');
    let retryMs = RETRY_MS_MIN;
    while (!this.#stopping) {
      const work = this.#next();
      if (work === null) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          if (this.#stopping || this.#next() !== null) resolve();
        });
        continue;
      }
      const aborter = new AbortController();
      this.#current = aborter;
      const scope: Scope = { signal: aborter.signal, ends: [], isLocked: false };
      try {
        await work(scope);
        this.#unavailable = null;
        retryMs = RETRY_MS_MIN;
      } catch (error) {
        if (!aborter.signal.aborted) {
          const message = error instanceof Error ? error.message : String(error);
          if (!(error instanceof EngineUnavailableError)) this.#log.error({ err: error }, 'a deployment stopped short');
          else if (this.#unavailable === null) this.#log.warn(message);
          this.#unavailable = message;
          this.#setPhase('idle');
          await this.#pause(retryMs, aborter.signal);
          retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
        }
      } finally {
        for (const end of scope.ends) end();
        this.#current = null;
        this.#setPhase('idle');
      }
    }
  }

  #next(): ((scope: Scope) => Promise<void>) | null {
    const { task, good } = this.#parts.state.state;
    if (task === null) return null;
    if (task.kind === 'down') return task.stage === 'done' ? null : (scope) => this.#takeDown(task, scope);
    if (task.stage !== 'done') return (scope) => this.#bringUp(task, scope);
    return this.#isKeepDue && good !== null ? (scope) => this.#keep(good, scope) : null;
  }

  async #bringUp(task: UpTask, scope: Scope): Promise<void> {
    const { state } = this.#parts;
    const locked = !task.override_lock;
    let failed = task;
    if (task.stage === 'deploy') {
      const problem = await this.#attempt(async () => {
        const images = await this.#makeRun(task.version, { purpose: 'deploy', pins: {}, locked }, scope);
        const good = { ...task.version, images };
        this.#isKeepDue = false;
        state.set({ task: { ...task, stage: 'done', problem: null }, good, good_problem: null, is_mixed: false });
        this.#log.info({ compose: good.id, version: good.version }, 'a compose file is up');
      });
      if (problem === null) return;
      scope.signal.throwIfAborted();
      const fate = planFailure(state.state);
      failed = { ...task, stage: fate === 'leave' ? 'done' : 'bring_back', problem };
      state.set({ task: failed });
      const { id, version } = task.version;
      this.#log.warn({ compose: id, version, code: problem.code, fate }, `a compose file failed: ${problem.message}`);
      if (fate === 'leave') return;
    }
    this.#setPhase('rolling_back');
    const { good } = state.state;
    const problem = await this.#attempt(async () => {
      if (good === null) await this.#down({ volumes: false, locked }, scope);
      else await this.#makeRun(good, { purpose: 'bring_back', pins: good.images, locked }, scope);
      this.#isKeepDue = false;
      state.set({ is_mixed: false });
    });
    const why = failed.problem;
    const isBack = problem === null || why === null;
    const message = `${why?.message}; and what was there before could not be brought back: ${problem?.message}`;
    state.set({ task: { ...failed, stage: 'done', problem: isBack ? why : { ...why, message } } });
  }

  async #takeDown(task: DownTask, scope: Scope): Promise<void> {
    const { state } = this.#parts;
    const problem = await this.#attempt(() => this.#down({ volumes: task.volumes, locked: true }, scope));
    if (problem !== null) return state.set({ task: { ...task, stage: 'done', problem } });
    const nothing = { good: null, good_problem: null, is_touched: false, is_mixed: false };
    state.set({ task: { ...task, stage: 'done', problem: null }, ...nothing });
    this.#images.clear();
    this.#log.info('the compose file is down');
  }

  /** Puts what was healthy back in its place, where it is not there any more. */
  async #keep(good: GoodVersion, scope: Scope): Promise<void> {
    const { state } = this.#parts;
    this.#isKeepDue = false;
    const problem = await this.#attempt(async () => {
      await this.#makeRun(good, { purpose: 'keep', pins: good.images, locked: false }, scope);
    }).catch((error: unknown) => {
      this.#isKeepDue = true;
      throw error;
    });
    state.set({ good_problem: problem });
    this.#tell();
  }

  /**
   * @returns why it failed for good; null = it did not.
   * @throws EngineUnavailableError where the engine was lost, whatever it looked like, and what the signal ends.
   */
  async #attempt(action: () => Promise<void>): Promise<Problem | null> {
    const { observer, engine, wallNow } = this.#parts;
    const losses = observer.losses;
    try {
      await action();
      return null;
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      await engine.ping();
      if (observer.losses !== losses) throw new EngineUnavailableError('the Docker Engine went away', { cause: error });
      const { code, message, words } = failure;
      return { code, message: message.slice(0, 4096), words, at_ms: wallNow() };
    }
  }

  /** @returns the ids of the images that it runs with, by name. */
  async #makeRun(
    version: Version,
    desired: Pick<Desired & { kind: 'up' }, 'purpose' | 'pins' | 'locked'>,
    scope: Scope,
  ): Promise<Record<string, string>> {
    const { state, observer, directory, prepare } = this.#parts;
    const isKeep = desired.purpose === 'keep';
    if (isKeep && this.#goodServices?.of === state.state.good) {
      const containers = await this.#ownContainers();
      const { services } = this.#goodServices;
      const steps = plan({ containers, images: new Map() }, { kind: 'up', services, ...desired });
      if (steps.length === 0) return {};
    }
    if (desired.purpose === 'deploy') this.#setPhase('checking');
    const owner: Owner = { robot: this.#robot, agent: state.state.agent };
    const { files, services } = await makeDeployable(version.content, { directory, owner, prepare }, scope.signal);
    await observer.watching(scope.signal);
    const before = await this.#ownContainers();
    const images = await this.#imagesHere(services, desired.pins);
    const steps = plan(
      { containers: before, images },
      { kind: 'up', services, ...desired, locked: desired.locked && !scope.isLocked },
    );
    this.#showImages(services, images, steps);
    await this.#execute(steps, { files, services, before }, scope, !isKeep);
    const ran = new Map(observer.containers.map(({ service, imageId }) => [service, imageId]));
    if (isKeep && state.state.good) this.#goodServices = { of: state.state.good, services };
    return Object.fromEntries(
      services.flatMap(({ name, image }) => {
        const id = ran.get(name);
        return id === undefined ? [] : [[image, id] as const];
      }),
    );
  }

  async #down(options: { volumes: boolean; locked: boolean }, scope: Scope): Promise<void> {
    const { state, observer } = this.#parts;
    const isTouched = state.state.is_touched;
    let containers: readonly Container[];
    try {
      containers = await this.#ownContainers();
    } catch (error) {
      // Nothing was ever begun: a robot that has no engine is not to wait for one.
      if (!isTouched && error instanceof EngineUnavailableError) return;
      throw error;
    }
    await observer.watching(scope.signal);
    const locked = options.locked && !scope.isLocked;
    const steps = plan({ containers, images: new Map() }, { kind: 'down', ...options, locked, isTouched });
    await this.#execute(steps, { files: [], services: [], before: containers }, scope, false);
  }

  async #execute(
    steps: readonly Step[],
    what: Pick<Run, 'files' | 'services' | 'before'>,
    scope: Scope,
    isMixing: boolean,
  ) {
    const { state, executor } = this.#parts;
    this.#unavailable = null;
    const isBack = this.#phase === 'rolling_back';
    const run: Run = {
      ...what,
      signal: scope.signal,
      onPhase: (phase, heldBy) => this.#setPhase(isBack && phase !== 'held' ? 'rolling_back' : phase, heldBy),
      onImage: (image, change) => {
        this.#images.set(image, { image, ...change });
        this.#tell();
      },
      atEnd: (action) => void scope.ends.push(action),
    };
    for (const step of steps) {
      this.#log.debug({ step }, 'compose step');
      const isChange = step.do === 'up' || step.do === 'remove' || step.do === 'tag';
      // Before it, so that whoever comes after a crash knows.
      if (isChange) state.set({ is_touched: true, ...(isMixing && { is_mixed: true }) });
      await executor.execute(step, run);
      if (step.do === 'lock') {
        scope.isLocked = true;
        this.#heldBy = null;
      }
    }
  }

  /** @throws DeployError where the project is another's. */
  async #ownContainers(): Promise<readonly Container[]> {
    const { state, observer, cli } = this.#parts;
    const containers = await observer.look();
    const foreign = containers.filter(({ robot, agent }) => robot !== this.#robot && agent !== state.state.agent);
    if (foreign.length === 0) return containers;
    const names = foreign.map(({ name }) => name).join(', ');
    throw new DeployError(
      state.state.task?.kind === 'down' ? 'stop_failed' : 'start_failed',
      `the project ${cli.project} has containers that are not this agent's (${names}): remove them, or give this agent a ` +
        'DROVER_COMPOSE_PROJECT of its own',
    );
  }

  async #imagesHere(
    services: readonly Service[],
    pins: Readonly<Record<string, string>>,
  ): Promise<Map<string, string>> {
    const names = new Set([...services.map(({ image }) => image), ...Object.values(pins)]);
    const images = new Map<string, string>();
    for (const name of names) {
      const id = await this.#parts.engine.imageId(name);
      if (id !== null) images.set(name, id);
    }
    return images;
  }

  #showImages(services: readonly Service[], here: ReadonlyMap<string, string>, steps: readonly Step[]): void {
    this.#images.clear();
    for (const image of new Set(services.map((service) => service.image))) {
      const isPulled = steps.some((step) => step.do === 'pull' && step.image === image);
      const isPresent = here.has(image) && !isPulled;
      this.#images.set(image, {
        image,
        state: isPresent ? 'present' : 'waiting',
        percent: isPresent ? 100 : null,
        message: null,
      });
    }
    this.#tell();
  }

  /** Until the engine answers again, at least the time given. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    this.#tell();
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
  }

  #setPhase(phase: ComposePhase, heldBy: string | null = null): void {
    this.#phase = phase;
    this.#heldBy = heldBy;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Errors after which a version has failed; null: it is another kind of error. */
function failureOf(error: unknown): DeployError | null {
  if (error instanceof DeployError) return error;
  if (error instanceof ImageMissingError) return new DeployError('image_pull_failed', error.message);
  if (error instanceof UpdateLockError) return new DeployError('start_failed', error.message);
  if (error instanceof EngineRefusedError) return new DeployError('start_failed', error.message, error.message);
  if (error instanceof CliAbortedError) return null;
  return null;
}
