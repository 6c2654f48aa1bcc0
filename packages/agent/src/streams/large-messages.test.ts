import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { LARGE_BYTES_MIN } from './large-messages.js';

const FIXTURE = fileURLToPath(new URL('../../dist/streams/large-messages.fixture.js', import.meta.url));

/** In a process of its own, with the young generation that the supervisor gives the agent. */
async function wholeHeapCollections(keptBytes: number): Promise<number> {
  const args = ['--max-semi-space-size=4', FIXTURE, String(keptBytes)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return (JSON.parse(stdout) as { whole: number }).whole;
}

it('goes through the whole heap for buffers of large messages as long as none was kept, and hardly any more then', async () => {
  const [small, large] = await Promise.all([
    wholeHeapCollections(LARGE_BYTES_MIN - 1),
    wholeHeapCollections(LARGE_BYTES_MIN),
  ]);
  expect(small).toBeGreaterThan(1);
  expect(large).toBe(0);
});
