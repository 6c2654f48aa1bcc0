import { agent } from './agent/agent.js';
import { chunks } from './chunks/chunks.js';
import { commands } from './commands/commands.js';
import type { Benchmark } from './harness/benchmark.js';
import { ingest } from './ingest/ingest.js';
import { rows } from './rows/rows.js';
import { sampling } from './sampling/sampling.js';
import { flip } from './sessions/flip.js';
import { memory } from './sessions/memory.js';
import { vitals } from './sessions/vitals.js';
import { spool } from './spool/spool.js';

/** All there are, in the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [
  ingest,
  commands,
  agent,
  memory,
  vitals,
  flip,
  rows,
  chunks,
  spool,
  sampling,
];
