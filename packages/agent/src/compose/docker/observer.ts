import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { type Container, PROJECT_LABEL } from './container.js';
import type { Engine } from './engine.js';

const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5_000;
/** Events come in bursts: they are waited for that long before it is looked. */
const GATHER_MS = 50;
const WATCHING_MS_MAX = 10_000;
/** An engine that has not begun to tell its events in that time does not tell them. */
const STREAM_MS_MAX = 10_000;

/** SIGINT, SIGKILL, SIGTERM: a process that lives on is none of those stopped, and starts as another. */
const ENDING_SIGNALS = new Set(['2', '9', '15']);

/** What happens in a container, health checks mostly. */
const NO_CHANGE = /^(exec_|top|archive-path|attach|resize)/;

/**
 * Watches the containers of a project by the engine's events, and looks at all of them whenever something has happened. Comes back by
 * itself when the engine does.
 */
export class Observer {
  readonly #engine: Engine;
  readonly #project: string;
  readonly #log: Logger;
  readonly #streamMsMax: number;
  readonly #listeners = new Set<() => void>();
  #containers: readonly Container[] = [];
  #losses = 0;
  #looks = 0;
  #newestLook = 0;
  #isWatching = false;
  /** It took the question for events and has not answered; said once. */
  #isMute = false;
  #stopping: AbortController | null = null;
  #running: Promise<void> | null = null;
  #looking: Promise<void> | null = null;
  #lookAgain = false;
  readonly #stopped = new Set<string>();

  constructor(options: { engine: Engine; project: string; log: Logger; streamMsMax?: number }) {
    this.#engine = options.engine;
    this.#project = options.project;
    this.#log = options.log;
    this.#streamMsMax = options.streamMsMax ?? STREAM_MS_MAX;
  }

  /** As last seen, also while the engine is away; empty before the first look. */
  get containers(): readonly Container[] {
    return this.#containers;
  }

  /** Ids of containers that were told to stop (`docker stop`, `docker kill`) and not started since. */
  get stopped(): ReadonlySet<string> {
    return this.#stopped;
  }

  get isWatching(): boolean {
    return this.#isWatching;
  }

  /**
   * Waits until the engine is watched, for a while: so that its going away is seen. Whoever waits for a change of containers after that looks
   * himself from time to time: there are engines that tell nothing.
   */
  async watching(signal: AbortSignal): Promise<void> {
    if (this.#isWatching || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        forget();
        resolve();
      };
      const timer = setTimeout(done, WATCHING_MS_MAX);
      signal.addEventListener('abort', done, { once: true });
      const forget = this.onChange(() => this.#isWatching && done());
    });
  }

  /** How often the engine went away since the start. */
  get losses(): number {
    return this.#losses;
  }

  /** Called after each look, and when the engine goes or comes. @returns what takes the listener away. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  start(): void {
    if (this.#running) return;
    this.#stopping = new AbortController();
    this.#running = this.#run(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping?.abort();
    await this.#running;
    this.#running = null;
  }

  /** Looks now; what has happened before is seen. @throws EngineUnavailableError */
  async look(): Promise<readonly Container[]> {
    this.#looks += 1;
    const look = this.#looks;
    const containers = await this.#engine.containers(this.#project);
    // One that began later has seen more.
    if (look > this.#newestLook) {
      this.#newestLook = look;
      this.#containers = containers;
    }
    this.#tell();
    return this.#containers;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let retryMs = RETRY_MS_MIN;
    while (!signal.aborted) {
      try {
        await this.#watch(signal, () => {
          retryMs = RETRY_MS_MIN;
        });
      } catch (error) {
        if (!signal.aborted) this.#log.debug({ err: error }, 'the Docker Engine is not watched');
      }
      if (this.#isWatching) {
        this.#isWatching = false;
        this.#losses += 1;
        // Its own doing, most of it.
        this.#stopped.clear();
        this.#tell();
      }
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => {});
      retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
    }
  }

  /** Until the stream of events ends. */
  async #watch(signal: AbortSignal, connected: () => void): Promise<void> {
    const stream = await this.#events(signal);
    // After the stream stands, so that nothing falls between.
    await this.look();
    this.#isWatching = true;
    this.#isMute = false;
    connected();
    this.#tell();
    let rest = '';
    for await (const chunk of stream) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      const events = lines.filter((line) => line.trim() !== '').map(eventOf);
      for (const event of events) this.#note(event);
      if (events.some(({ action }) => !NO_CHANGE.test(action))) this.#lookSoon();
    }
  }

  async #events(signal: AbortSignal): Promise<NodeJS.ReadableStream> {
    const label = [`${PROJECT_LABEL}=${this.#project}`];
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#streamMsMax).unref();
    const abortSignal = AbortSignal.any([signal, late.signal]);
    try {
      return await this.#engine.ask((docker) =>
        docker.getEvents({ filters: { type: ['container'], label }, abortSignal }),
      );
    } catch (error) {
      if (late.signal.aborted && !this.#isMute) {
        this.#isMute = true;
        this.#log.warn('the Docker Engine does not tell its events; it is asked again and again');
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #lookSoon(): void {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = (async () => {
      do {
        await sleep(GATHER_MS, undefined, { ref: false });
        this.#lookAgain = false;
        await this.look();
      } while (this.#lookAgain);
    })()
      // It is looked again when the stream of events, which ends as well, stands anew.
      .catch((error: unknown) => this.#log.debug({ err: error }, 'the containers can not be seen'))
      .finally(() => {
        this.#looking = null;
      });
  }

  #note({ action, id, signal }: EngineEvent): void {
    if (action === 'stop' || (action === 'kill' && ENDING_SIGNALS.has(signal))) this.#stopped.add(id);
    if (action === 'start' || action === 'destroy') this.#stopped.delete(id);
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

interface EngineEvent {
  readonly action: string;
  readonly id: string;
  /** Of a kill. */
  readonly signal: string;
}

const engineEvent = z.object({
  Action: z.string(),
  Actor: z.object({ ID: z.string(), Attributes: z.object({ signal: z.string().optional() }) }),
});

/** An event that is not understood is one that may mean anything. */
function eventOf(line: string): EngineEvent {
  try {
    const { Action, Actor } = engineEvent.parse(JSON.parse(line));
    return { action: Action, id: Actor.ID, signal: Actor.Attributes.signal ?? '' };
  } catch {
    return { action: '', id: '', signal: '' };
  }
}
