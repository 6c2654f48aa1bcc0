/** /healthz: the process answers. /readyz: it can also reach its store. Neither needs a key. */
import { Router } from 'express';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Db } from '../db/store.js';

export function healthRouter(options: { db: Db; log: Logger; isStopping: () => boolean }): Router {
  const router = Router({ caseSensitive: true });
  router.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.get('/readyz', async (_request, response) => {
    if (options.isStopping()) {
      response.status(503).json({ error_code: 'unavailable', message: 'the cloud is stopping' });
      return;
    }
    try {
      await sql`select 1 from schema_versions limit 1`.execute(options.db);
      response.json({ status: 'ok' });
    } catch (error) {
      options.log.error({ err: error }, 'the store can not be read');
      response.status(503).json({ error_code: 'unavailable', message: 'the store can not be read' });
    }
  });
  return router;
}
