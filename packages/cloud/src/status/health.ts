/** /healthz: the process answers. /readyz: its store can be read and written as well. Neither needs a key. */
import { Router } from 'express';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { isStoreCorrupt, whyUnavailable } from '../db/errors.js';
import type { Store } from '../db/store.js';

/** A finding holds so long: whoever asks without a key costs at most a write in this time. */
const FINDING_MS = 2_000;

export function healthRouter(options: {
  store: Pick<Store, 'db' | 'probe'>;
  log: Logger;
  monotonicNow: () => number;
  isStopping: () => boolean;
}): Router {
  const { store, log, monotonicNow, isStopping } = options;
  const router = Router({ caseSensitive: true });
  /** Null: nothing is wrong. */
  let finding: Promise<string | null> | undefined;
  let foundAtMs = Number.NEGATIVE_INFINITY;
  let lastProblem: string | null = null;

  async function look(): Promise<string | null> {
    const problem = await problemOf(store).catch(wordsOf);
    // Said when it changes: probes come every few seconds.
    if (problem !== null && problem !== lastProblem) log.error({ problem }, 'not ready');
    if (problem === null && lastProblem !== null) log.info('ready again');
    lastProblem = problem;
    return problem;
  }

  router.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.get('/readyz', async (_request, response) => {
    if (isStopping()) {
      response.status(503).json({ error_code: 'unavailable', message: 'the cloud is stopping' });
      return;
    }
    if (finding === undefined || monotonicNow() - foundAtMs >= FINDING_MS) {
      foundAtMs = monotonicNow();
      finding = look();
    }
    const problem = await finding;
    if (problem === null) response.json({ status: 'ok' });
    else response.status(503).json({ error_code: 'unavailable', message: problem });
  });
  return router;
}

async function problemOf(store: Pick<Store, 'db' | 'probe'>): Promise<null> {
  await sql`select 1 from schema_versions limit 1`.execute(store.db);
  await store.probe();
  return null;
}

function wordsOf(error: unknown): string {
  if (isStoreCorrupt(error)) return 'the store is corrupt: it has to be restored from a backup';
  const why = whyUnavailable(error);
  return why === null ? 'the store can not be used' : `the store takes no writes: ${why}`;
}
