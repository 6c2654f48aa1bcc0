/** Waiting that a signal ends: every wait of the graph is bounded in time and ends when the graph is stopped. */

/** First and longest pause between two looks at a condition that ROS does not announce. */
const POLL_MS = { first: 2, longest: 20 };

/** Resolves with true once `condition` holds, with false after `timeoutMs`. @throws the signal's reason, and what `condition` throws. */
export async function waitUntil(
  condition: () => boolean,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<boolean> {
  const endsAtMs = performance.now() + timeoutMs;
  for (let pauseMs = POLL_MS.first; ; pauseMs = Math.min(pauseMs * 2, POLL_MS.longest)) {
    signal.throwIfAborted();
    if (condition()) return true;
    const leftMs = endsAtMs - performance.now();
    if (leftMs <= 0) return false;
    await abortable(
      signal,
      new Promise<void>((resolve) => {
        setTimeout(resolve, Math.min(pauseMs, leftMs));
      }),
    );
  }
}

/** What `promise` settles with. @throws the signal's reason if it comes first. */
export async function abortable<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  let stopListening = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    stopListening = () => signal.removeEventListener('abort', abort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stopListening();
  }
}

/**
 * Runs `work` with a signal that aborts with the first of `signals`, or after `timeoutMs` with `timeoutReason()`.
 * (AbortSignal.any would keep a trace of each piece of work on a signal that lives as long as the graph.)
 */
export async function withDeadline<T>(
  signals: readonly (AbortSignal | undefined)[],
  timeout: { timeoutMs: number; reason: () => Error } | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const stopListening: (() => void)[] = [];
  for (const signal of signals) {
    if (signal === undefined) continue;
    const abort = () => own.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    stopListening.push(() => signal.removeEventListener('abort', abort));
  }
  const timer = timeout && setTimeout(() => own.abort(timeout.reason()), timeout.timeoutMs);
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    for (const stop of stopListening) stop();
  }
}
