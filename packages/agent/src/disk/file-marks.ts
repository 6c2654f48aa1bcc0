import { statSync } from 'node:fs';

/**
 * What a file system knows of a file and no copy of it shares. The device's number is left out: it changes with the
 * order in which disks are found, and overlay file systems get a new one at each mount.
 */
export interface FileMarks {
  readonly inode: string;
  /** Nanoseconds since 1970; null where the file system does not tell. Inodes' numbers are given again, this is not. */
  readonly born: string | null;
}

/** A SQLite file as it was found, before it was opened. */
export interface FoundFile extends FileMarks {
  /** When anything last changed it or its WAL: no program can set that back. */
  readonly changedMs: number;
}

/**
 * A file that changed this long after the last write that it holds was changed by somebody else: copied over. As long as
 * the slowest flash card may take from the moment a write is made to the moment it is on disk.
 */
const LATE_CHANGE_MS = 5_000;

/** Reads a file's marks; null where there is none. */
export function findFile(path: string): FoundFile | null {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (!file) return null;
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false });
  // Where the system knows no birth, Node gives the last change (or zero) in its place.
  const born = file.birthtimeNs === 0n || file.birthtimeNs === file.ctimeNs ? null : String(file.birthtimeNs);
  return { inode: String(file.ino), born, changedMs: Math.max(Number(file.ctimeMs), wal?.ctimeMs ?? 0) };
}

/**
 * Whether a file is not the one that its last writer had in its hands, by the marks that were written into it: a copy by
 * cp, rsync or tar, in its place or over it. Returns why, or null. In doubt (a file that was moved, or whose owner
 * changed) it is a copy. A restored image of the whole disk is not found out: it brings the file system's own records.
 * @param writtenAtMs when the last write that it holds was made, by the wall clock.
 */
export function whyCopied(written: FileMarks, writtenAtMs: number, found: FoundFile): string | null {
  if (written.inode !== found.inode) return `it was written as inode ${written.inode} and is ${found.inode}`;
  if (written.born !== null && found.born !== null && written.born !== found.born) {
    return 'it was made at another time than the file that was written';
  }
  const lateMs = found.changedMs - writtenAtMs;
  if (lateMs <= LATE_CHANGE_MS) return null;
  return `it was changed ${Math.round(lateMs / 1000)} s after its last write`;
}
