import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { lockDataDir } from './instance-lock.js';

/** An agent whose supervisor was killed notices after a moment; the next one may be quicker, and waits this long for it. */
const LEAVING_MS = 2_000;

/** The data directory can't be made or written. */
export class DataDirUnusableError extends Error {
  override readonly name = 'DataDirUnusableError';
  constructor(
    readonly dataDir: string,
    cause: unknown,
  ) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `the data directory ${dataDir} can not be used: ${reason}. Make it for this user ` +
        `(sudo install -d -o "$USER" ${dataDir}), or set DROVER_DATA_DIR to another`,
      { cause },
    );
  }
}

/**
 * Makes the data directory where it is missing, and takes it for this agent alone.
 * @returns the release function.
 * @throws DataDirBusyError | DataDirUnusableError
 */
export function openDataDir(dataDir: string): () => void {
  try {
    makeDirectory(dataDir);
    return lockDataDir(dataDir, LEAVING_MS);
  } catch (cause) {
    if (cause instanceof Error && cause.name === 'DataDirBusyError') throw cause;
    throw new DataDirUnusableError(dataDir, cause);
  }
}

/** Step by step: Node's own recursive way never ends below a directory that takes no children (/proc). */
function makeDirectory(path: string): void {
  const parent = dirname(path);
  if (existsSync(path)) return;
  if (parent !== path) makeDirectory(parent);
  mkdirSync(path, { mode: 0o700 });
}
