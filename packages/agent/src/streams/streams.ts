import type { DesiredStream } from '@drover/shared/link/desired';
import { Collector, type CollectorDeps } from './collector.js';
import type { WatchedStream } from './stream-reporter.js';

interface Running {
  readonly stream: DesiredStream;
  readonly collector: Collector;
}

/**
 * Converges the collectors to the desired streams: stops what is gone or disabled, starts what is new, starts anew what
 * changed. A stream that changes is not stopped for the others' sake, and one that fails concerns no other.
 */
export class Streams {
  readonly #deps: CollectorDeps;
  readonly #running = new Map<string, Running>();
  #desired: readonly DesiredStream[] = [];
  /** Collectors that are being stopped, by source: the next one of the source waits for them. */
  readonly #stopping = new Map<string, Promise<void>>();

  constructor(deps: CollectorDeps) {
    this.#deps = { ...deps, log: deps.log.child({ part: 'streams' }) };
  }

  /** Sources that are collected now. */
  get sources(): string[] {
    return [...this.#running.keys()];
  }

  /** Every desired stream, the disabled ones too. */
  get watched(): WatchedStream[] {
    return this.#desired.map(({ source, type }) => ({
      source,
      type,
      view: this.#running.get(source)?.collector.view ?? null,
    }));
  }

  apply(desired: readonly DesiredStream[]): void {
    this.#desired = desired;
    const wanted = new Map(desired.filter((stream) => stream.enabled).map((stream) => [stream.source, stream]));
    for (const [source, { stream, collector }] of this.#running) {
      const next = wanted.get(source);
      if (!next || !isSame(stream, next)) this.#stop(source);
      // Not worth a new subscription, which would miss what comes meanwhile.
      else collector.bound(next.max_message_bytes);
    }
    for (const [source, stream] of wanted) if (!this.#running.has(source)) this.#start(stream);
  }

  async stop(): Promise<void> {
    this.#desired = [];
    for (const source of [...this.#running.keys()]) this.#stop(source);
    await Promise.all(this.#stopping.values());
  }

  #start(stream: DesiredStream): void {
    const { source, type, hz } = stream;
    this.#deps.log.info({ source, type, hz }, 'stream starts');
    const running = { stream, collector: new Collector(stream, this.#deps) };
    this.#running.set(source, running);
    const before = this.#stopping.get(source) ?? Promise.resolve();
    void before.then(() => {
      if (this.#running.get(source) === running) running.collector.start();
    });
  }

  #stop(source: string): void {
    const running = this.#running.get(source);
    if (!running) return;
    this.#deps.log.info({ source }, 'stream stops');
    this.#running.delete(source);
    const before = this.#stopping.get(source) ?? Promise.resolve();
    const stopping = before
      .then(() => running.collector.stop())
      .then(() => {
        if (this.#stopping.get(source) === stopping) this.#stopping.delete(source);
      });
    this.#stopping.set(source, stopping);
  }
}

function isSame(a: DesiredStream, b: DesiredStream): boolean {
  return a.type === b.type && a.hz === b.hz;
}
