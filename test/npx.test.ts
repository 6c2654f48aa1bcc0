import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('a cloud started by npx stops when npx is ended by SIGTERM, which npx does not pass on', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'drover-npx-'));
  const npx = spawn('npx', ['drover-cloud'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, DROVER_PORT: '0', DROVER_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[] = [];
  // The pipe is closed once nobody holds it any more: npx and what it started.
  const allGone = new Promise<void>((resolve) => npx.stdout.once('close', resolve));
  await new Promise<void>((resolve) => {
    createInterface({ input: npx.stdout }).on('line', (line) => {
      said.push(line);
      if (line.includes('"msg":"listening"')) resolve();
    });
  });
  npx.kill('SIGTERM');
  await allGone;
  expect(said.at(-1)).toContain('"msg":"stopped"');
  await rm(dataDir, { recursive: true });
});
