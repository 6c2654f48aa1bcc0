import { EventEmitter } from 'node:events';
import type { Bus, BusEventName, BusEvents } from './bus.js';

/** The bus of a cloud that is one process: events are delivered after the publisher's turn, in order. */
export class InProcessBus implements Bus {
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#emitter.removeAllListeners();
  }

  publish<N extends BusEventName>(name: N, event: BusEvents[N]): void {
    // Not in the publisher's turn: as with a real broker, a subscriber never runs inside its publisher's transaction.
    setImmediate(() => this.#emitter.emit(name, event));
  }

  subscribe<N extends BusEventName>(name: N, handler: (event: BusEvents[N]) => void): () => void {
    this.#emitter.on(name, handler);
    return () => this.#emitter.off(name, handler);
  }
}
