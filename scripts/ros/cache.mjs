// The cache of made environments: one folder each, a marker written last, one maker at a time.
//
// A folder without its marker is what a killed run left: it is removed and made again. The lock is an flock(2) on a
// file beside the folder, so a maker that dies lets go of it, and nobody has to guess whether a lock is stale.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { onPath, SetupError } from './run.mjs';

/** `DROVER_CACHE_DIR`, else the user's cache folder; in it that of an area. */
export function cacheRoot(env = process.env, area = 'ros') {
  return join(env.DROVER_CACHE_DIR || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'drover'), area);
}

/**
 * The folder `<cache>/<area>/<key>`, made by `make(folder)` where it is not there whole (`isWhole` may look closer than the
 * marker). Safe to call in several processes at once: the others wait and then find it made.
 */
export async function cached({ key, make, isWhole = () => true, log, area = 'ros' }) {
  const root = cacheRoot(process.env, area);
  const folder = join(root, key);
  const marker = join(folder, '.complete');
  const whole = () => existsSync(marker) && isWhole(folder);
  if (whole()) return folder;
  mkdirSync(root, { recursive: true });
  const release = await lock(join(root, `${key}.lock`), () => log(`another run is making ${folder}: waiting for it`));
  try {
    if (whole()) return folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    await make(folder);
    writeFileSync(marker, `${new Date().toISOString()}\n`);
    return folder;
  } finally {
    release();
  }
}

/** Takes the lock; flock(1) takes it on our own open file, which keeps it when that child has gone. */
async function lock(file, onWait) {
  const flock = onPath('flock');
  if (flock === undefined) throw new SetupError('flock is missing: apt-get install util-linux');
  const fd = openSync(file, 'a');
  const take = (args) =>
    new Promise((resolve, reject) => {
      const child = spawn(flock, [...args, '3'], { stdio: ['ignore', 'ignore', 'inherit', fd] });
      child.once('error', reject);
      child.once('close', resolve);
    });
  if ((await take(['--nonblock'])) !== 0) {
    onWait();
    if ((await take([])) !== 0) throw new SetupError(`could not lock ${file}`);
  }
  return () => closeSync(fd);
}
