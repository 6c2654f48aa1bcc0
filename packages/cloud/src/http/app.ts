/**
 * The Express app. It never listens: main.ts and the tests do. A request passes, in this order: its id and its log line;
 * the pages that need no key; the key (also on unknown routes, so that strangers learn nothing); its route with scope,
 * content type, size, JSON, schema; and whatever is thrown on the way ends in one error handler.
 */
import { ApiError } from '@drover/shared/api/errors';
import express, { type Express, type RequestHandler, Router } from 'express';
import type { Logger } from 'pino';
import { type Authenticate, requireCaller } from './caller.js';
import type { Endpoint } from './endpoint.js';
import { errorHandler } from './errors.js';
import { requestLog } from './request-log.js';
import { endpointRoutes } from './router.js';

export interface AppDeps {
  readonly log: Logger;
  readonly authenticate: Authenticate;
  readonly endpoints: readonly Endpoint[];
  /** Routers whose paths need no key: health, metrics, documents, the status page. */
  readonly open?: readonly Router[];
  /** Sees every request first (metrics). */
  readonly observe?: RequestHandler;
}

export function createApp(deps: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('case sensitive routing', true);
  app.use(requestLog(deps.log), securityHeaders);
  if (deps.observe) app.use(deps.observe);
  const routes = endpointRoutes(deps.endpoints);
  const open = Router({ caseSensitive: true });
  for (const router of deps.open ?? []) open.use(router);
  app.use((request, response, next) => {
    // None of the open pages' paths has the shape of an endpoint's: requests for those need not be matched against each of them.
    if (routes.mayHave(request.path)) next();
    else open(request, response, next);
  });
  app.use(requireCaller(deps.authenticate));
  app.use(refuseBrokenPath);
  app.use(routes.handle);
  app.use((request) => {
    throw new ApiError('not_found', `there is no ${request.method} ${request.path}`);
  });
  app.use(errorHandler(deps.log));
  return app;
}

const securityHeaders: RequestHandler = (_request, response, next) => {
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('referrer-policy', 'no-referrer');
  // What the API answers is of this moment and of this caller.
  response.setHeader('cache-control', 'no-store');
  next();
};

const refuseBrokenPath: RequestHandler = (request, _response, next) => {
  try {
    decodeURIComponent(request.path);
  } catch {
    throw new ApiError('invalid_request', 'the path has a broken percent-encoding');
  }
  next();
};
