import { ApiError } from '@drover/shared/api/errors';
import express, { type RequestHandler } from 'express';

export const BODY_BYTES_MAX = 1024 * 1024;
/** Deeper JSON overflows the stack of what reads it after the parser (zod, JSON.stringify). */
export const JSON_DEPTH_MAX = 100;

/** Reads a JSON body: 415 where it says it is something else, 413 over the bound, 400 where it is none or too deep. */
export function jsonBody(): RequestHandler[] {
  return [
    (request, _response, next) => {
      const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.get('content-length')) > 0;
      if (hasBody && !request.is('application/json')) {
        const given = request.get('content-type');
        const words = given === undefined ? 'has no content-type' : `is ${given.slice(0, 100)}`;
        throw new ApiError('unsupported_media_type', `the body ${words}; send content-type: application/json`);
      }
      next();
    },
    express.json({ limit: BODY_BYTES_MAX, strict: false, type: 'application/json' }),
    (request, _response, next) => {
      refuseUnsafe(request.body);
      next();
    },
  ];
}

/** Without recursion: the depth is the caller's choice. */
function refuseUnsafe(body: unknown): void {
  let level: object[] = isObject(body) ? [body] : [];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > JSON_DEPTH_MAX) {
      throw new ApiError('invalid_request', `the body is nested over ${JSON_DEPTH_MAX} levels deep`);
    }
    const below: object[] = [];
    for (const value of level) {
      // zod's records would drop it without a word
      if (Object.hasOwn(value, '__proto__')) {
        throw new ApiError('invalid_request', 'a field of the body is named __proto__, which is not allowed');
      }
      for (const child of Object.values(value)) if (isObject(child)) below.push(child);
    }
    level = below;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
