import { z } from 'zod';

/** Every `error_code` that a request can be answered with. */
export const apiErrorCode = z.enum([
  'invalid_request',
  'unauthenticated',
  'forbidden',
  'not_found',
  'robot_not_found',
  'command_not_found',
  'stream_not_found',
  'compose_file_not_found',
  'compose_file_not_assigned',
  'robot_exists',
  'stream_exists',
  'compose_file_exists',
  'compose_file_in_use',
  'command_ended',
  'command_not_cancelable',
  'idempotency_conflict',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'queue_full',
  'unavailable',
  'internal_error',
]);
export type ApiErrorCode = z.infer<typeof apiErrorCode>;

/** One thing wrong with a request; `path` is where (`payload.linear.x`, `limit`), "" for the request as a whole. */
export const errorDetail = z.strictObject({ path: z.string(), message: z.string() });
export type ErrorDetail = z.infer<typeof errorDetail>;

/** The body of every answer that is no success. */
export const errorBody = z
  .strictObject({
    error_code: apiErrorCode,
    message: z.string(),
    details: z.array(errorDetail).optional(),
  })
  .meta({ id: 'Error' });
export type ErrorBody = z.infer<typeof errorBody>;

/** A request that can't be granted; the HTTP side alone knows the status that goes with each code. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly details: readonly ErrorDetail[] | undefined;
  /** When it may be worth trying again, seconds; sent as Retry-After. */
  readonly retryAfterS: number | undefined;

  constructor(
    readonly code: ApiErrorCode,
    message: string,
    more: { details?: readonly ErrorDetail[]; retryAfterS?: number; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.details = more.details;
    this.retryAfterS = more.retryAfterS;
  }
}

/** `['payload', 'ranges', 3, 'x']` as people write it: `payload.ranges[3].x`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? String(step) : `.${String(step)}`;
  }
  return text;
}

/** What a schema found wrong, each unknown field under its own path. */
export function detailsOf(error: z.ZodError): ErrorDetail[] {
  return error.issues.flatMap((issue): ErrorDetail[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: pathText([...issue.path, key]), message: 'unknown field' }));
    }
    return [{ path: pathText(issue.path), message: issue.message }];
  });
}
