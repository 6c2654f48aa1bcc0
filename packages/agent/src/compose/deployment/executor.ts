import type { ComposeImage, ComposePhase } from '@drover/shared/link/compose-status';
import { CliAbortedError, type ComposeCli } from '../docker/cli.js';
import type { Container } from '../docker/container.js';
import type { DockerEnv } from '../docker/docker-env.js';
import type { Engine } from '../docker/engine.js';
import { EngineUnavailableError } from '../docker/engine-error.js';
import { lastLines } from '../docker/logs.js';
import type { Observer } from '../docker/observer.js';
import { DeployError } from '../document/deploy-error.js';
import type { Service } from '../document/services.js';
import { HealthGate } from './health-gate.js';
import type { Step } from './plan.js';
import { pullImage } from './pull.js';
import type { UpdateLock } from './update-lock.js';

/** Longest wait of the health gate without a look. */
const LOOK_MS_MAX = 1_000;
const MESSAGE_LENGTH_MAX = 1_000;

export interface ExecutorParts {
  readonly cli: ComposeCli;
  readonly engine: Engine;
  readonly env: DockerEnv;
  readonly observer: Observer;
  readonly lock: UpdateLock;
  readonly healthWindowMs: number;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
}

/** What a run of a plan needs, and what it tells. */
export interface Run {
  readonly signal: AbortSignal;
  /** Empty for a removal. */
  readonly files: readonly string[];
  readonly services: readonly Service[];
  /** What was there before. */
  readonly before: readonly Container[];
  /** What there is of our project now. @throws DeployError where not all of it is ours. */
  readonly lookAtOwn: () => Promise<readonly Container[]>;
  readonly onPhase: (phase: ComposePhase, heldBy?: string) => void;
  readonly onImage: (image: string, change: Pick<ComposeImage, 'state' | 'percent' | 'message'>) => void;
  /** What there is to do at the end of the run, whatever it is. */
  readonly atEnd: (action: () => void) => void;
}

type Executors = { readonly [K in Step['do']]: (step: Step & { do: K }, run: Run) => Promise<void> };

/**
 * Does the steps of a plan.
 * A step throws DeployError where it failed, EngineUnavailableError, UpdateLockError, and CliAbortedError or AbortError at its signal.
 */
export class Executor {
  readonly #parts: ExecutorParts;
  readonly #executors: Executors = {
    pull: (step, run) => this.#pull(step, run),
    lock: (_, run) => this.#lock(run),
    tag: ({ id, image }) => this.#parts.engine.tag(id, image),
    remove: ({ id }) => this.#parts.engine.remove(id),
    rename: ({ id, name }) => this.#parts.engine.rename(id, name),
    up: ({ services }, run) => this.#up(services, run),
    watch: (_, run) => this.#watch(run),
    down: ({ volumes }, run) => this.#down(volumes, run),
  };

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
  }

  async execute<K extends Step['do']>(step: Step & { do: K }, run: Run): Promise<void> {
    run.signal.throwIfAborted();
    const executor: (step: Step & { do: K }, run: Run) => Promise<void> = this.#executors[step.do];
    await executor(step, run);
  }

  async #pull({ image, platform, must }: Step & { do: 'pull' }, run: Run): Promise<void> {
    const { engine, env } = this.#parts;
    run.onPhase('pulling');
    run.onImage(image, { state: 'pulling', percent: null, message: null });
    const onProgress = (percent: number | null) => run.onImage(image, { state: 'pulling', percent, message: null });
    try {
      await pullImage({ engine, env, image, platform, signal: run.signal, onProgress });
    } catch (error) {
      if (!(error instanceof DeployError)) throw error;
      run.onImage(image, { state: 'failed', percent: null, message: error.message.slice(0, MESSAGE_LENGTH_MAX) });
      throw must && (await engine.imageId(image)) !== null
        ? new DeployError(error.code, `${error.message} (an older one is here, but its pull_policy asks)`, error.words)
        : error;
    }
    run.onImage(image, { state: 'present', percent: 100, message: null });
  }

  async #lock(run: Run): Promise<void> {
    run.atEnd(await this.#parts.lock.take(run.signal, (holder) => run.onPhase('held', holder)));
  }

  async #up(services: readonly string[], run: Run): Promise<void> {
    run.onPhase('starting');
    const { cli, observer, healthWindowMs, monotonicNow } = this.#parts;
    // Where services wait for others to be healthy, compose does as well, without end.
    const patience = new AbortController();
    const graceS = Math.max(...run.services.map(({ stopGraceS }) => stopGraceS), ...graces(run.before));
    const patienceMs = healthWindowMs + graceS * 1000;
    let seen = fingerprint(observer.containers);
    let sinceMs = monotonicNow();
    const timer = setInterval(() => {
      const now = fingerprint(observer.containers);
      if (now !== seen) sinceMs = monotonicNow();
      seen = now;
      if (monotonicNow() - sinceMs > patienceMs) patience.abort();
      // Not every engine tells what happens; one that is away ends compose as well.
      else if (!observer.isWatching) observer.look().catch(() => {});
    }, LOOK_MS_MAX);
    // What is missing was pulled before; whatever is pulled here would come without a word of progress.
    const args = ['up', '--detach', '--no-build', '--pull', 'never', '--remove-orphans', ...services];
    try {
      const signal = AbortSignal.any([run.signal, patience.signal]);
      let end = await cli.run(args, { files: run.files, signal });
      for (const removed = new Set<string>(); end.kind === 'failed'; ) {
        const stuck = stuckContainer(end.words);
        if (stuck === null || removed.has(stuck)) break;
        removed.add(stuck);
        // What is said may be a document's words (its command is quoted): they are not to name what is another's.
        if (!(await run.lookAtOwn()).some(({ id }) => id === stuck)) break;
        await this.#parts.engine.remove(stuck);
        end = await cli.run(args, { files: run.files, signal });
      }
      if (end.kind === 'failed') throw await this.#startFailed(end.words);
    } catch (error) {
      if (!(error instanceof CliAbortedError) || run.signal.aborted) throw error;
      const waiting = (await observer.look()).filter(({ health }) => health !== null && health !== 'healthy');
      const names = waiting.map(({ name }) => name).join(', ');
      throw waiting.length > 0
        ? await this.#atFault('unhealthy', `${names} did not become healthy, and others wait for it`, waiting)
        : new DeployError('start_failed', 'docker compose up has not come further for too long');
    } finally {
      clearInterval(timer);
    }
  }

  async #watch(run: Run): Promise<void> {
    run.onPhase('watching');
    const { observer, healthWindowMs, monotonicNow } = this.#parts;
    const options = { services: run.services, windowMs: healthWindowMs, before: run.before };
    const gate = new HealthGate({ ...options, nowMs: monotonicNow() });
    const losses = observer.losses;
    let containers = await observer.look();
    for (;;) {
      run.signal.throwIfAborted();
      if (observer.losses !== losses) throw new EngineUnavailableError('the Docker Engine went away');
      const verdict = gate.judge(containers, monotonicNow());
      if (verdict.kind === 'healthy') return;
      if (verdict.kind === 'failed') {
        const atFault = containers.filter(({ id }) => verdict.containers.includes(id));
        throw await this.#atFault(verdict.code, verdict.message, atFault);
      }
      const hasChanged = await this.#change(Math.min(verdict.inMs, LOOK_MS_MAX), run.signal);
      // Not every engine tells what happens.
      containers = hasChanged ? observer.containers : await observer.look();
    }
  }

  async #down(volumes: boolean, run: Run): Promise<void> {
    run.onPhase('stopping');
    const { cli, observer } = this.#parts;
    const end = await cli.run(['down', '--remove-orphans', ...(volumes ? ['--volumes'] : [])], { signal: run.signal });
    if (end.kind === 'failed') {
      throw new DeployError('stop_failed', `docker compose down: ${lastLine(end.words)}`, end.words);
    }
    const left = await observer.look();
    if (left.length === 0) return;
    const names = left.map(({ name }) => name).join(', ');
    throw new DeployError('stop_failed', `docker compose down has left ${names}`, end.words);
  }

  /** Until something has changed, or that time has passed. @returns whether it has been looked meanwhile. */
  async #change(ms: number, signal: AbortSignal): Promise<boolean> {
    return await new Promise<boolean>((resolve) => {
      const done = (hasChanged: boolean) => {
        clearTimeout(timer);
        forget();
        signal.removeEventListener('abort', onAbort);
        resolve(hasChanged);
      };
      const onAbort = () => done(false);
      const timer = setTimeout(() => done(false), ms);
      const forget = this.#parts.observer.onChange(() => done(true));
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  async #startFailed(words: string): Promise<DeployError> {
    const code = /is unhealthy/.test(words) ? 'unhealthy' : 'start_failed';
    // It may be the engine that has gone, which is known by asking it.
    const atFault = (await this.#parts.observer.look()).filter(
      ({ state, exitCode, health }) => health === 'unhealthy' || (state === 'exited' && exitCode !== 0),
    );
    return await this.#atFault(code, `docker compose up: ${lastLine(words)}`, atFault, words);
  }

  /** With the last lines of the containers that are to blame: they are gone soon. */
  async #atFault(
    code: 'start_failed' | 'unhealthy',
    message: string,
    atFault: readonly Container[],
    words = '',
  ): Promise<DeployError> {
    const said = await Promise.all(
      atFault.map(async ({ id, name, error, health }) => {
        const { engine } = this.#parts;
        const [lines, check] = await Promise.all([
          lastLines(engine, id),
          health === null || health === 'healthy' ? '' : engine.lastHealthcheck(id),
        ]);
        return [
          error === '' ? '' : `${name}: ${error}`,
          check === '' ? '' : `--- healthcheck of ${name}\n${check}`,
          lines === '' ? '' : `--- ${name}\n${lines}`,
        ]
          .filter((part) => part !== '')
          .join('\n');
      }),
    );
    return new DeployError(code, message, [words, ...said].filter((part) => part !== '').join('\n') || null);
  }
}

function graces(containers: readonly Container[]): number[] {
  return [10, ...containers.map(({ stopGraceS }) => stopGraceS ?? 0)];
}

/**
 * The container that an engine was just starting when it was killed: containerd has it, the engine does not know, and can never start
 * it. Another in its place can be. Null: that is not what was said.
 */
export function stuckContainer(words: string): string | null {
  return /task ([0-9a-f]{64}): already exists/.exec(words)?.[1] ?? null;
}

/** What compose changes while it comes further; a health that changes is none of its doing. */
function fingerprint(containers: readonly Container[]): string {
  return containers.map(({ id, name, state, startedMs }) => `${id} ${name} ${state} ${startedMs}`).join('\n');
}

function lastLine(words: string): string {
  return words.trim().split('\n').at(-1)?.trim().slice(0, MESSAGE_LENGTH_MAX) ?? '';
}
