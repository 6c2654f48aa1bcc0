/** The one place where what went wrong becomes a status and a body. */
import { ApiError, type ApiErrorCode, detailsOf, type ErrorBody } from '@drover/shared/api/errors';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { isStoreCorrupt, whyUnavailable } from '../db/errors.js';
import { requestIdOf } from './request-log.js';

export const STATUS_OF = {
  invalid_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  robot_not_found: 404,
  command_not_found: 404,
  stream_not_found: 404,
  compose_file_not_found: 404,
  compose_file_not_assigned: 404,
  robot_exists: 409,
  stream_exists: 409,
  compose_file_exists: 409,
  compose_file_in_use: 409,
  command_ended: 409,
  command_not_cancelable: 409,
  idempotency_conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  queue_full: 429,
  unavailable: 503,
  internal_error: 500,
} as const satisfies Record<ApiErrorCode, number>;

const RETRY_UNAVAILABLE_S = 5;
const RETRY_CORRUPT_S = 600;

/** Answers every error; what is our fault is logged with the request's id, and said without its innards. */
export function errorHandler(log: Logger): ErrorRequestHandler {
  return (error, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const known = asApiError(error);
    const status = STATUS_OF[known.code];
    if (status >= 500) {
      // What a rule itself calls unavailable (a robot that is offline) is no fault of ours.
      const level = known === error ? 'info' : 'error';
      log[level]({ err: known.cause ?? known, request_id: requestIdOf(response), path: request.path }, known.message);
    }
    if (known.retryAfterS !== undefined) response.setHeader('retry-after', String(known.retryAfterS));
    const body: ErrorBody = {
      error_code: known.code,
      message: known.message,
      ...(known.details ? { details: [...known.details] } : {}),
    };
    response.status(status).json(body);
  };
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const why = whyUnavailable(error);
  if (why !== null) {
    const message = `the cloud's store can not be used at the moment: ${why}. Nothing was changed; try again later`;
    return new ApiError('unavailable', message, { retryAfterS: RETRY_UNAVAILABLE_S, cause: error });
  }
  if (isStoreCorrupt(error)) {
    const message = "the cloud's store is corrupt: it has to be restored from a backup";
    return new ApiError('unavailable', message, { retryAfterS: RETRY_CORRUPT_S, cause: error });
  }
  return asRequestError(error) ?? new ApiError('internal_error', 'something went wrong on our side', { cause: error });
}

/** What Express and its body parser throw, told by their `type` and `status`. */
function asRequestError(error: unknown): ApiError | undefined {
  if (!(error instanceof Error)) return undefined;
  const type = 'type' in error ? error.type : undefined;
  const status = 'status' in error ? error.status : undefined;
  if (type === 'entity.too.large') return new ApiError('payload_too_large', 'the body is over 1 MiB');
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') {
    return new ApiError('unsupported_media_type', `the body must be JSON in UTF-8: ${error.message}`);
  }
  if (type === 'entity.parse.failed') return new ApiError('invalid_request', `the body is not JSON: ${error.message}`);
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new ApiError('invalid_request', error.message);
  }
  return undefined;
}

/** A 400 with everything that a schema found. */
export function invalidRequest(error: Parameters<typeof detailsOf>[0], where: 'body' | 'query'): ApiError {
  const details = detailsOf(error);
  const words = details.slice(0, 5).map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return new ApiError('invalid_request', `the ${where} is not valid: ${words.join('; ')}`, { details });
}
