import { ApiError } from '@drover/shared/api/errors';
import { API_KEY_HEADER, type Scope } from '@drover/shared/api/keys';
import type { RequestHandler, Response } from 'express';

/** Whose key a request carries. */
export interface Caller {
  readonly tenantKey: number;
  readonly tenantUuid: string;
  readonly keyUuid: string;
  readonly scopes: ReadonlySet<Scope>;
}

export type Authenticate = (secret: string) => Promise<Caller | undefined>;

/** Lets only requests with a live API key pass: before the body is read, and before a route is looked for. */
export function requireCaller(authenticate: Authenticate): RequestHandler {
  return async (request, response, next) => {
    const secret = request.get(API_KEY_HEADER);
    const caller = secret === undefined || secret === '' ? undefined : await authenticate(secret);
    if (!caller) {
      const message = secret
        ? `the API key in the ${API_KEY_HEADER} header is not known or was revoked`
        : `an API key is needed, in the ${API_KEY_HEADER} header`;
      throw new ApiError('unauthenticated', message);
    }
    response.locals.caller = caller;
    next();
  };
}

/** Behind `requireCaller` only. */
export function callerOf(response: Response): Caller {
  return response.locals.caller as Caller;
}

/** Refuses a caller whose key lacks the scope. */
export function requireScope(scope: Scope): RequestHandler {
  return (_request, response, next) => {
    if (!callerOf(response).scopes.has(scope)) {
      throw new ApiError('forbidden', `this API key lacks the scope ${scope}`);
    }
    next();
  };
}
