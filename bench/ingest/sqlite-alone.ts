/** The limit of ingest: better-sqlite3 alone in its process, with the cloud's own tables, index and pragmas. */
import { addPointsSql, POINTS_A_STATEMENT } from '@drover/cloud/dist/data/ingest-sql.js';
import { openStore } from '@drover/cloud/dist/db/store.js';
import type { Database } from 'better-sqlite3';
import { serve } from '../harness/serve.js';
import { messages } from '../links/messages.js';

const ROWS_A_TRANSACTION = 1000;
const ROBOTS = 10;
const SOURCES = 10;
const PRAGMAS = [
  'journal_mode',
  'synchronous',
  'page_size',
  'cache_size',
  'wal_autocheckpoint',
  'foreign_keys',
] as const;

let raw: Database | undefined;
let cdrs: readonly Uint8Array[] = [];
let batches = 0;

serve({
  open: async ({ dataDir }: { dataDir: string }) => {
    raw = await openStore({ dataDir, nowMs: Date.now() }).exclusive((handle) => handle);
    cdrs = (await messages(ROWS_A_TRANSACTION, 1)).cdrs;
    const opened = raw;
    return Object.fromEntries(PRAGMAS.map((name) => [name, opened.pragma(name, { simple: true })]));
  },
  insert: ({ ms, rowsAStatement }: { ms: number; rowsAStatement: number }) => {
    if (!raw) throw new Error('not open');
    const statement = raw.prepare(addPointsSql(rowsAStatement));
    const one = raw.prepare(addPointsSql(1));
    const batch = raw.transaction(() => {
      const robot = batches % ROBOTS;
      batches += 1;
      const nowMs = Date.now();
      let values: unknown[] = [];
      for (const [at, cdr] of cdrs.entries()) {
        const source = robot * SOURCES + (at % SOURCES) + 1;
        values.push(source, source, nowMs + Math.floor(at / 10), nowMs, null, cdr);
        if (values.length === rowsAStatement * 6) {
          statement.run(values);
          values = [];
        }
      }
      for (let at = 0; at < values.length; at += 6) one.run(values.slice(at, at + 6));
    });
    const startMs = performance.now();
    let rows = 0;
    for (; performance.now() - startMs < ms; rows += ROWS_A_TRANSACTION) batch.immediate();
    return { rows, seconds: (performance.now() - startMs) / 1000 };
  },
  statementRows: () => POINTS_A_STATEMENT[0],
});
