import { access, constants, mkdtemp, open, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, type Finding } from './check.js';

const FREE_BYTES_WARN = 2e9;
const FREE_BYTES_FAIL = 100e6;
/** Every command waits for a flush before it runs, and data is committed about four times a second. */
const FLUSH_WARN_MS = 250;
/** As much as a small commit of the spool writes. */
const PROBE_BYTES = 4096;

/** statfs(2) types of file systems whose files do not outlive a restart. */
const VOLATILE: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'tmpfs, in memory: it is gone with a restart of the machine'],
  [0x858458f6, 'ramfs, in memory: it is gone with a restart of the machine'],
  [0x794c7630, "an overlay, such as a container's own layer: it is gone with the container"],
]);

/** Whether the data directory can keep what must not be lost. Leaves nothing behind in it. */
export async function checkDisk(dataDir: string, monotonicNow: () => number): Promise<readonly Finding[]> {
  const existing = await nearestExisting(dataDir);
  const concerns: Finding[] = [];
  try {
    const disk = await statfs(existing);
    const freeBytes = disk.bavail * disk.bsize;
    concerns.push(...judgeFreeSpace(freeBytes, dataDir), ...judgeKind(disk.type, dataDir));
    let state = 'will be made at the first start';
    if (existing === dataDir) {
      const flushMs = await timedFlush(dataDir, monotonicNow);
      state = `writable${await asWhom(dataDir)}, flush ${flushMs.toFixed(1)} ms`;
      concerns.push(...judgeFlush(flushMs, dataDir));
    } else {
      await access(existing, constants.W_OK | constants.X_OK);
    }
    const fine: Finding = { status: 'ok', message: `${dataDir}: ${state}, ${size(freeBytes)} free` };
    return concerns.length > 0 ? concerns : [fine];
  } catch (error) {
    return [unwritable(errorCode(error) ?? String(error), existing), ...concerns];
  }
}

function judgeKind(type: number, dataDir: string): Finding[] {
  const kind = VOLATILE.get(type);
  if (kind === undefined) return [];
  const remedy = 'set DROVER_DATA_DIR to a directory on a disk (in a container: a volume)';
  return [{ status: 'warn', message: `${dataDir} is on ${kind}`, remedy }];
}

function judgeFlush(flushMs: number, dataDir: string): Finding[] {
  if (flushMs <= FLUSH_WARN_MS) return [];
  const message = `a flush to ${dataDir} took ${Math.round(flushMs)} ms: every command and every batch of data waits so long`;
  return [{ status: 'warn', message, remedy: 'put DROVER_DATA_DIR on a faster disk, or relieve this one' }];
}

/** Root writes where the agent's own user may not. */
async function asWhom(dataDir: string): Promise<string> {
  if (process.geteuid?.() !== 0) return '';
  const { uid } = await stat(dataDir);
  return uid === 0 ? '' : ` for root (it belongs to user ${uid}: run doctor as the agent's user)`;
}

/** @param bytes free for this user. */
export function judgeFreeSpace(bytes: number, dataDir: string): Finding[] {
  if (bytes >= FREE_BYTES_WARN) return [];
  const remedy = 'make room, or set DROVER_DATA_DIR to another disk; DROVER_SPOOL_MAX_MB bounds what data may take';
  const fails = bytes < FREE_BYTES_FAIL;
  const least = size(fails ? FREE_BYTES_FAIL : FREE_BYTES_WARN);
  const message = `only ${size(bytes)} free where ${dataDir} is (less than ${least})`;
  return [{ status: fails ? 'fail' : 'warn', message, remedy }];
}

/** The directory itself, or the one in which it would be made: doctor makes none, it may run as another user. */
async function nearestExisting(path: string): Promise<string> {
  try {
    await access(path);
    return path;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) return path;
    return nearestExisting(dirname(path));
  }
}

async function timedFlush(dataDir: string, monotonicNow: () => number): Promise<number> {
  const folder = await mkdtemp(join(dataDir, 'doctor-'));
  try {
    const file = await open(join(folder, 'flush'), 'w');
    try {
      const startMs = monotonicNow();
      await file.write(new Uint8Array(PROBE_BYTES));
      await file.sync();
      return monotonicNow() - startMs;
    } finally {
      await file.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function unwritable(code: string, directory: string): Finding {
  const remedies: Readonly<Record<string, string>> = {
    EACCES: `let the agent's user write there (chown), or set DROVER_DATA_DIR to a directory of its own`,
    EPERM: `let the agent's user write there (chown), or set DROVER_DATA_DIR to a directory of its own`,
    EROFS:
      'its file system is mounted read-only: set DROVER_DATA_DIR to another, or remount it (broken disks do that too)',
    ENOSPC: 'the disk is full: make room',
    ENOTDIR: 'that is no directory: set DROVER_DATA_DIR to one',
    EIO: 'the disk reports errors (dmesg): replace it',
  };
  const remedy = remedies[code] ?? 'set DROVER_DATA_DIR to a directory that can be written';
  return { status: 'fail', message: `${directory} can't be written (${code})`, remedy };
}

function size(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
