import type { Logger } from 'pino';
import { type Container, runOf } from '../docker/container.js';
import type { Engine } from '../docker/engine.js';
import type { Observer } from '../docker/observer.js';
import type { Service } from '../document/services.js';
import type { StateFile } from './state-file.js';

/** What is not as it should be is given that long: compose by hand, or the engine, may be about to mend it. */
const SETTLE_MS = 5_000;
/** An engine that was killed may end a container that it had just started again, by what it learns late of the one before. */
const LATE_MS = 30_000;
const RETRY_MS_MIN = 10_000;
const RETRY_MS_MAX = 300_000;

export interface UpkeepParts {
  readonly observer: Observer;
  readonly engine: Engine;
  readonly state: StateFile;
  readonly monotonicNow: () => number;
  readonly log: Logger;
}

/**
 * Knows when it must be seen to it that what is up is there: at the agent's start and when the engine was away, when a container
 * is gone or stands still that should run, and again, ever more rarely, where that did not help. What somebody has stopped by hand
 * waits for the next start, as it does with Docker. Notes which containers have ended by themselves: what an engine takes down with
 * it ends in the same way, but is to run again.
 */
export class Upkeep {
  readonly #parts: UpkeepParts;
  readonly #onDue: () => void;
  #isDue = true;
  #isIdle = false;
  #services: readonly Service[] = [];
  #lateUntilMs = 0;
  #retryMs = RETRY_MS_MIN;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: UpkeepParts, onDue: () => void) {
    this.#parts = parts;
    this.#onDue = onDue;
  }

  get isDue(): boolean {
    return this.#isDue;
  }

  /** It is to be seen to now. */
  ask(): void {
    this.#isDue = true;
    this.#onDue();
  }

  /** The engine was away, or the agent. */
  askAfterAbsence(): void {
    this.#lateUntilMs = this.#parts.monotonicNow() + LATE_MS;
    this.ask();
  }

  /** Work begins: whatever is asked for from here on is due after it. */
  begin(): void {
    this.#isDue = false;
    this.#isIdle = false;
    this.#clear();
  }

  /** The engine was lost in the middle of it. */
  broken(): void {
    this.#isDue = true;
  }

  /** Work has ended, and what is good is there, or (`failed`) is not. */
  end(services: readonly Service[], failed: boolean): void {
    this.#services = services;
    this.#isIdle = true;
    if (!failed) {
      this.#retryMs = RETRY_MS_MIN;
      this.changed();
      return;
    }
    this.#clear();
    this.#after(this.#retryMs, () => this.ask());
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }

  /** A container may have. */
  changed(): void {
    if (!this.#isIdle || this.#isDue || this.#timer !== null) return;
    const { containers } = this.#parts.observer;
    if (this.#astray(containers).length === 0 && this.#newEnds(containers).length === 0) return;
    this.#after(SETTLE_MS, () => void this.#look());
  }

  /** Which containers have ended by themselves, as they were seen last. @throws EngineUnavailableError where the engine may have ended them. */
  async noteEnds(): Promise<void> {
    const { observer, engine, state } = this.#parts;
    const { containers } = observer;
    await engine.ping();
    const there = new Set(containers.map(runOf));
    const ended = state.state.ended.filter((run) => there.has(run));
    state.set({ ended: [...ended, ...this.#newEnds(containers)] });
  }

  stop(): void {
    this.#isIdle = false;
    this.#clear();
  }

  async #look(): Promise<void> {
    const { observer, log } = this.#parts;
    const { losses } = observer;
    try {
      const astray = this.#astray(await observer.look());
      if (observer.losses !== losses || !this.#isIdle) return;
      if (astray.length === 0) return await this.noteEnds();
      log.warn({ services: astray }, 'what is up is not all there any more');
      this.ask();
    } catch (error) {
      // It will be asked for when the engine is back.
      log.debug({ err: error }, 'the containers can not be seen');
    }
  }

  #astray(containers: readonly Container[]): string[] {
    const { observer, monotonicNow } = this.#parts;
    const isLate = monotonicNow() < this.#lateUntilMs;
    return astray(this.#services, containers, { stopped: observer.stopped, isLate });
  }

  #newEnds(containers: readonly Container[]): string[] {
    const known = new Set(this.#parts.state.state.ended);
    const { stopped } = this.#parts.observer;
    const ended = containers.filter(
      ({ id, state, exitCode }) => state === 'exited' && exitCode === 0 && !stopped.has(id),
    );
    return ended.map(runOf).filter((run) => !known.has(run));
  }

  #after(ms: number, action: () => void): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      action();
    }, ms).unref();
  }

  #clear(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/**
 * Names of the services that are not there as they should be, and that nobody will mend by himself.
 * @param around `stopped`: ids of containers that were stopped by hand. `isLate`: what ends now may have been ended by the engine.
 */
export function astray(
  services: readonly Service[],
  containers: readonly Container[],
  { stopped, isLate }: { readonly stopped: ReadonlySet<string>; readonly isLate: boolean },
): string[] {
  const isAstray = ({ id, state, exitCode, restartPolicy }: Container) => {
    if (state === 'created' || state === 'dead') return true;
    if (state !== 'exited' || stopped.has(id)) return false;
    return restartPolicy.name === 'always' || restartPolicy.name === 'unless-stopped' || (isLate && exitCode !== 0);
  };
  const names = services.filter(({ name, scale }) => {
    const own = containers.filter(({ service, isOneOff }) => service === name && !isOneOff);
    return own.length < scale || own.some(isAstray);
  });
  return names.map(({ name }) => name);
}
