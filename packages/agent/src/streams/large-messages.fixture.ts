/**
 * Makes buffers as sampling ten large messages a second does, beside a heap as the agent's, and prints how often V8 went through the whole
 * of it: {"whole": …}. The argument is the size of the message that is noted as kept before.
 */
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { noteKept } from './large-messages.js';

const BUFFERS = 300;
/** Under way at once. */
const KEPT = 3;
const BUFFER_BYTES = 1024 * 1024;
/** Little runs in between: V8 lets a heap grow by more where much does. */
const PAUSE_MS = 8;

const alive = Array.from({ length: 200_000 }, (_, index) => ({ index, list: [index] }));
noteKept(Number(process.argv[2]));
setFlagsFromString('--expose-gc');
// The limits are set by a collection.
runInNewContext('gc')();

let whole = 0;
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { detail } = entry as PerformanceEntry & { readonly detail: { readonly kind: number } };
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) whole += 1;
  }
});
observer.observe({ entryTypes: ['gc'] });
const underWay: Uint8Array[] = [];
for (let made = 0; made < BUFFERS; made += 1) {
  underWay.push(new Uint8Array(BUFFER_BYTES));
  if (underWay.length > KEPT) underWay.shift();
  await wait(PAUSE_MS);
}
process.stdout.write(`${JSON.stringify({ whole, alive: alive.length })}\n`);
