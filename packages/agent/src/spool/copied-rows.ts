import Database from 'better-sqlite3';
import { z } from 'zod';
import { findFile, whyCopied } from '../disk/file-marks.js';
import type { StoreFile } from '../disk/store-file.js';

/** Keys of meta: the file's marks; the id below which rows came with a copy, until a cloud has said what became of them. */
const MARKS = 'marks';
const COPIED_BEFORE = 'copied_before_id';
const fileMarks = z.object({ inode: z.string(), born: z.string().nullable() });
const rowId = z.string().regex(/^\d{1,15}$/);

/**
 * Which rows of a spool came with its file, where that is a copy of another. Kept in the file: the agent may be started
 * anew before a cloud says what became of the original, and what it collects until then is no part of the copy.
 *
 * By the file's marks alone, as the time of its last write is not kept: of a copy over the file in its place, all rows
 * count that were there at the last start.
 */
export class CopiedRows {
  readonly #sql;
  readonly #openedBeforeId: number;

  /**
   * @param openedBeforeId ids below were in the file when it was opened now.
   * @throws SqliteError (as of a corrupt file) where what the file says of itself is nothing that an agent writes
   */
  constructor(file: StoreFile, openedBeforeId: number) {
    this.#openedBeforeId = openedBeforeId;
    this.#sql = {
      get: file.db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck(),
      set: file.db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)'),
      delete: file.db.prepare('DELETE FROM meta WHERE key = ?'),
    };
    const copiedBefore = this.#sql.get.get(COPIED_BEFORE);
    if (copiedBefore !== undefined && !rowId.safeParse(copiedBefore).success) throw senseless(COPIED_BEFORE);
    const known = readMarks(this.#sql.get.get(MARKS));
    const found = file.found ?? findFile(file.path);
    if (!found) return;
    const marks = { inode: found.inode, born: found.born };
    if (known?.inode === marks.inode && known.born === marks.born) return;
    file.db.transaction(() => {
      const isCopy = known !== undefined && whyCopied(known, Number.POSITIVE_INFINITY, found) !== null;
      if (isCopy && copiedBefore === undefined) {
        this.#sql.set.run(COPIED_BEFORE, String(openedBeforeId));
      }
      this.#sql.set.run(MARKS, JSON.stringify(marks));
    })();
  }

  /** Rows with smaller ids came with the copy, if there was one. */
  get endId(): number {
    return Number(this.#sql.get.get(COPIED_BEFORE) ?? this.#openedBeforeId);
  }

  /** What became of them is known. */
  settled(): void {
    if (this.#sql.get.get(COPIED_BEFORE) !== undefined) this.#sql.delete.run(COPIED_BEFORE);
  }
}

/** Undefined where the file has none yet. */
function readMarks(text: string | undefined): z.infer<typeof fileMarks> | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw senseless(MARKS);
  }
  const checked = fileMarks.safeParse(value);
  if (!checked.success) throw senseless(MARKS);
  return checked.data;
}

/** A spool that does not know which of its rows are a copy's might tell the same twice: it is set aside. */
function senseless(key: string): Error {
  return new Database.SqliteError(`its entry meta.${key} makes no sense`, 'SQLITE_CORRUPT');
}
