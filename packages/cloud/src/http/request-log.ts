import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import type { Logger } from 'pino';

const REQUEST_ID = /^[A-Za-z0-9_.-]{1,64}$/;
/** Asked every few seconds by machines: not worth a line each. */
const QUIET_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Gives every request an id (the caller's `x-request-id` where it has one) and logs one line when it is answered: never
 * a header, a query or a body, which may hold secrets.
 */
export function requestLog(log: Logger): RequestHandler {
  return (request, response, next) => {
    const given = request.get('x-request-id');
    const id = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID();
    response.locals.requestId = id;
    response.setHeader('x-request-id', id);
    const startedMs = performance.now();
    const { method, path } = request;
    response.once('close', () => {
      const line = {
        request_id: id,
        method,
        path,
        status: response.statusCode,
        duration_ms: Math.round(performance.now() - startedMs),
        ...(response.writableFinished ? {} : { aborted: true }),
      };
      if (QUIET_PATHS.has(path)) log.debug(line, 'request');
      else log.info(line, 'request');
    });
    next();
  };
}

export function requestIdOf(response: Response): string {
  return String(response.locals.requestId);
}
