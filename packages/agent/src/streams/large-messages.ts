import { setFlagsFromString } from 'node:v8';

/** Several times a second, such messages make more garbage than all else that the agent does. */
export const LARGE_BYTES_MIN = 64 * 1024;
/**
 * How far the heap may grow, in percent of what lives in it, before V8 goes through the whole of it. With some 20 MB alive, so far that
 * the collection of the young generation, which comes after 32 MB of buffers, comes first.
 */
const GROWING_PERCENT = 200;

let areExpected = false;

/**
 * To be told the size of each message that is kept. Such a message leaves four times its bytes in buffers (itself, encoded, in frames, in
 * masked frames), all of them dead after a moment. V8 counts them as part of the old generation, which it lets grow by some 15 MB only
 * while little runs: of ten messages of 1 MB a second it went through the whole heap 2.6 times a second, which was half of the agent's
 * CPU. To collect the young generation takes a millisecond, and frees nearly all of them.
 *
 * V8 reads the setting each time that it sets its next limit. Not from the start on: without large messages the heap stays smaller.
 */
export function noteKept(messageBytes: number): void {
  if (areExpected || messageBytes < LARGE_BYTES_MIN) return;
  areExpected = true;
  setFlagsFromString(`--heap-growing-percent=${GROWING_PERCENT}`);
}
