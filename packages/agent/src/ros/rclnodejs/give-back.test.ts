import { MessagePort } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { GIVEN_BACK_BYTES_MIN, giveBack } from './give-back.js';

it('leaves what can not be transferred as it is, and throws nothing', () => {
  // Node 20 copies such memory in silence; newer versions throw.
  const post = vi.spyOn(MessagePort.prototype, 'postMessage').mockImplementation(() => {
    throw new DOMException('Object that needs transfer was found in message', 'DataCloneError');
  });
  onTestFinished(() => post.mockRestore());
  const large = new Uint8Array(GIVEN_BACK_BYTES_MIN).fill(7);
  giveBack(large);
  expect(post).toHaveBeenCalledOnce();
  expect(large.at(-1)).toBe(7);
});
