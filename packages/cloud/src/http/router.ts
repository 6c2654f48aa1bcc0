import { ApiError, type ErrorDetail } from '@drover/shared/api/errors';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { jsonBody } from './body.js';
import { callerOf, requireScope } from './caller.js';
import { type Endpoint, JsonText } from './endpoint.js';
import { invalidRequest } from './errors.js';

/**
 * The routes of all endpoints, in order. Express looks through its routes one by one, so they are told apart first by what costs
 * next to nothing: how many parts a path has, and the first of them.
 */
export function endpointRoutes(endpoints: readonly Endpoint[]) {
  const routers = new Map<string, Router>();
  for (const endpoint of endpoints) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    const router = routers.get(shapeOf(path)) ?? Router({ caseSensitive: true });
    routers.set(shapeOf(path), router);
    const handlers: RequestHandler[] = [markRoute(endpoint), requireScope(endpoint.scope)];
    if (endpoint.body) handlers.push(...jsonBody());
    handlers.push((request, response) => answer(endpoint, request, response));
    router[endpoint.method](path, ...handlers);
  }
  const handle: RequestHandler = (request, response, next) => {
    const router = routers.get(shapeOf(request.path));
    if (router) router(request, response, next);
    else next();
  };
  return { handle, mayHave: (path: string) => routers.has(shapeOf(path)) };
}

/** Alike for a route and for the paths that it matches: a slash at the end does not count there. */
function shapeOf(path: string): string {
  const parts = path.split('/');
  if (parts.at(-1) === '') parts.pop();
  return `${parts.length} ${parts[1] ?? ''}`;
}

/** The template of the route a request was for, for the metrics; undefined where there was none. */
export function routeOf(response: Response): string | undefined {
  return response.locals.route as string | undefined;
}

function markRoute(endpoint: Endpoint): RequestHandler {
  return (_request, response, next) => {
    response.locals.route = endpoint.path;
    next();
  };
}

async function answer(endpoint: Endpoint, request: Request, response: Response): Promise<void> {
  const { status, body } = await endpoint.handle({
    caller: callerOf(response),
    params: request.params as Record<string, string>,
    query: checkedQuery(endpoint, request),
    body: checkedBody(endpoint, request),
    header: (name) => request.get(name),
  });
  if (body === undefined) response.status(status).end();
  else sendJson(response, status, body instanceof JsonText ? body.text : JSON.stringify(body));
}

/** What Express's own does besides (ETags, conditional requests) we have switched off, or never do. */
function sendJson(response: Response, status: number, text: string): void {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, headers).end(text);
}

function checkedQuery(endpoint: Endpoint, request: Request): unknown {
  if (!endpoint.query) return {};
  const repeated: ErrorDetail[] = [];
  for (const [name, value] of Object.entries(request.query)) {
    if (Array.isArray(value) && Object.hasOwn(knownParameters(endpoint), name)) {
      repeated.push({ path: name, message: 'must be given once' });
    }
  }
  const [first] = repeated;
  if (first) throw new ApiError('invalid_request', `query parameter ${first.path} is repeated`, { details: repeated });
  // A plain object, since the parser's has no prototype.
  const checked = endpoint.query.safeParse({ ...request.query });
  if (!checked.success) throw invalidRequest(checked.error, 'query');
  return checked.data;
}

function knownParameters(endpoint: Endpoint): object {
  const schema: unknown = endpoint.query;
  return typeof schema === 'object' && schema !== null && 'shape' in schema ? (schema.shape as object) : {};
}

/** zod calls a missing field one that "received undefined". */
function sayRequired(issue: { input?: unknown; code?: string | undefined }): string | undefined {
  return issue.input === undefined && issue.code === 'invalid_type' ? 'is required' : undefined;
}

function checkedBody(endpoint: Endpoint, request: Request): unknown {
  if (!endpoint.body) return undefined;
  if (request.body === undefined) throw new ApiError('invalid_request', 'a JSON body is needed');
  const checked = endpoint.body.safeParse(request.body, { error: sayRequired });
  if (!checked.success) throw invalidRequest(checked.error, 'body');
  return checked.data;
}
