// `npm run bench -- [names…] [--smoke] [--windows 5] [--out DIR]`: builds, then runs the benchmarks (main.ts; docs/performance.md).
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const built = spawnSync(process.execPath, [join(checkout, 'node_modules/typescript/bin/tsc'), '-b'], {
  cwd: checkout,
  stdio: 'inherit',
});
if (built.status === 0) await import('./dist/main.js');
else process.exitCode = built.status ?? 1;
