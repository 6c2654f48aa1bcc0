import { ApiError } from '@drover/shared/api/errors';

/** A page of a list holds at most this many bytes. */
export const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** What a page over PAGE_BYTES_MAX is answered with. */
export function pageTooLarge(): ApiError {
  const message = 'the page is over 16 MiB: ask for less with a smaller limit';
  return new ApiError('payload_too_large', message, { details: [{ path: 'limit', message }] });
}
