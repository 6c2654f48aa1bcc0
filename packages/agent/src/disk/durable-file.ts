import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Replaces a file so that after a crash or a power cut it holds either the old or the new text, whole: write beside it,
 * fsync, rename, fsync the directory.
 * @throws the system's error (ENOSPC, EROFS, …); the old file is then untouched.
 */
export function writeDurably(path: string, text: string): void {
  const fresh = `${path}.new`;
  const file = openSync(fresh, 'w', 0o600);
  try {
    // Not writeSync: a disk that is nearly full takes a part and says no more than how much.
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(fresh, path);
  fsyncDirectory(dirname(path));
}

/** Makes creations and renames in a directory survive a power cut. */
export function fsyncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
