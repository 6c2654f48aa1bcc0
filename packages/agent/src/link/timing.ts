import { PING_INTERVAL_MS, SILENCE_MAX_MS } from '@drover/shared/link/protocol';

/** Every wait of the link, so that tests need not take as long. Milliseconds. */
export interface LinkTiming {
  /** DNS, TCP, TLS and the upgrade together. */
  readonly connectTimeoutMs: number;
  readonly welcomeTimeoutMs: number;
  /** How long the peer may take to answer a close frame. */
  readonly closeTimeoutMs: number;
  readonly pingIntervalMs: number;
  readonly tickMs: number;
  readonly silenceMaxMs: number;
  readonly clockIntervalMs: number;
  /** Factor on the waits between attempts. */
  readonly retryFactor: number;
}

export const LINK_TIMING: LinkTiming = {
  connectTimeoutMs: 10_000,
  welcomeTimeoutMs: 15_000,
  closeTimeoutMs: 1_000,
  pingIntervalMs: PING_INTERVAL_MS,
  tickMs: 1_000,
  silenceMaxMs: SILENCE_MAX_MS,
  clockIntervalMs: 10_000,
  retryFactor: 1,
};
