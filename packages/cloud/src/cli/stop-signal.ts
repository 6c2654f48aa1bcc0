import type { Logger } from 'pino';

export interface Stopping {
  readonly signal: AbortSignal;
  /** Resolves at the first SIGTERM or SIGINT. */
  readonly requested: Promise<void>;
  /** Everything has stopped. */
  done(): void;
}

/**
 * Stopping on request. More signals change nothing: the same one may reach every process of the group, and our parent may
 * pass it on as well. What has not stopped `drainS` seconds later is left behind: all that was acknowledged is on disk.
 */
export function stopSignal(drainS: number, log: Logger): Stopping {
  const controller = new AbortController();
  const requested = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  let timer: NodeJS.Timeout | undefined;
  const stop = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) return;
    log.info({ signal }, 'stopping');
    const graceMs = Math.max(500, drainS * 1000 - 200);
    timer = setTimeout(() => {
      log.warn('not everything stopped in time');
      process.exit(0);
    }, graceMs).unref();
    controller.abort();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return {
    signal: controller.signal,
    requested,
    done() {
      clearTimeout(timer);
      log.info('stopped');
      process.exit(0);
    },
  };
}
