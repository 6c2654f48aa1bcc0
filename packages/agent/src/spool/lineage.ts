import { type Lineage as Said, TENURES_MAX } from '@drover/shared/link/hello';
import { type FileMarks, findFile, whyCopied } from '../disk/file-marks.js';
import type { StoreFile } from '../disk/store-file.js';

/** The tables of a file with a lineage, for its migrations. */
export const LINEAGE_TABLES = `
  -- One row: the tenure of the agent that holds the file, and the last write. Wall clock.
  CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    tenure TEXT NOT NULL,
    version INTEGER NOT NULL,
    written_at_ms REAL NOT NULL,
    inode TEXT NOT NULL,
    born TEXT
  ) STRICT;
  -- Those before, each with its last version.
  CREATE TABLE tenures (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, version INTEGER NOT NULL) STRICT;
`;

export interface LineageOptions {
  readonly newId: () => string;
  /** Wall clock. */
  readonly now: () => number;
  /**
   * Called within the transaction that gives the file a new id: what a copy must not do is to be struck out.
   * @param isUntouched nothing was written since the file was opened: nothing in it is under way here.
   */
  readonly onNewId: (isUntouched: boolean) => void;
}

/** What is to be written with the next write, whatever that is. */
interface Opening {
  readonly tenure: string;
  /** Of the file, where it gets a new one. */
  readonly id: string | null;
}

/**
 * Which state of which file this is, so that a copy of it can be told from the file itself (shared/link/hello.ts says
 * how the cloud tells). Opening it begins a tenure, every write raises the version in the same transaction. A file that
 * its marks show to be a copy gets a new id before anything else: to the cloud it is a new inbox then.
 *
 * A disk that refuses the write that begins a tenure (or gives the new id) loses nothing: it is made together with the
 * first one that succeeds, and counts in memory meanwhile.
 */
export class Lineage {
  readonly #file: StoreFile;
  readonly #options: LineageOptions;
  readonly #sql: ReturnType<typeof prepare>;
  /** Made once: to make one costs as much as a statement. */
  readonly #transaction: (work: () => unknown) => unknown;
  readonly #earlier: { id: string; version: number }[];
  #id: string;
  #tenure: string;
  #version: number;
  #opening: Opening | null;
  /** Why the file was taken for a copy at its opening, or null. */
  readonly copied: string | null;

  /** Writes nothing: `begin` does. */
  constructor(file: StoreFile, options: LineageOptions) {
    this.#file = file;
    this.#options = options;
    this.#sql = prepare(file.db);
    this.#transaction = file.db.transaction((work: () => unknown) => work());
    const head = this.#sql.head.get();
    this.#earlier = this.#sql.earlier.all(TENURES_MAX);
    if (head) this.#earlier.unshift({ id: head.tenure, version: head.version });
    this.copied = head && file.found ? whyCopied(head, head.written_at_ms, file.found) : null;
    this.#version = head?.version ?? 0;
    this.#tenure = options.newId();
    this.#id = this.copied === null ? file.id : options.newId();
    this.#opening = { tenure: this.#tenure, id: this.copied === null ? null : this.#id };
  }

  /** The file's; a new one counts from the moment it is known that it needs one. */
  get id(): string {
    return this.#id;
  }

  get version(): number {
    return this.#version;
  }

  /** A new id is not on disk yet, and what the file says of commands is not to be acted on. */
  get isNewIdPending(): boolean {
    return this.#opening !== null && this.#opening.id !== null;
  }

  said(): Said {
    return { id: this.#tenure, version: this.#version, earlier: this.#earlier.slice(0, TENURES_MAX) };
  }

  /** Writes the beginning of the tenure, where that is still to be written. @throws what the disk refuses with. */
  begin(): void {
    if (this.#opening) this.write(() => {});
  }

  /** Gives the file a new id, at once for the cloud. @throws what the disk refuses with; it is written later then. */
  renew(): void {
    this.#id = this.#options.newId();
    this.#opening = { tenure: this.#tenure, id: this.#id };
    this.begin();
  }

  /** One durable transaction that raises the version. @throws SQLite's error where nothing was changed. */
  write<T>(action: () => T): T {
    const opening = this.#opening;
    const result = this.#transaction(() => {
      if (opening) this.#begin(opening);
      const done = action();
      this.#sql.raise.run(this.#options.now());
      return done;
    });
    this.#opening = null;
    this.#version += 1;
    return result as T;
  }

  #begin({ tenure, id }: Opening): void {
    const { endTenure, forget, begin } = this.#sql;
    const marks: FileMarks = findFile(this.#file.path) ?? { inode: 'gone', born: null };
    const head = this.#sql.head.get();
    const isUntouched = head?.tenure !== tenure;
    if (head && isUntouched) {
      endTenure.run(head.tenure, head.version);
      forget.run(TENURES_MAX);
    }
    if (isUntouched) begin.run(tenure, head?.version ?? 0, marks.inode, marks.born);
    if (id === null) return;
    this.#file.setId(id);
    this.#options.onNewId(isUntouched);
  }
}

interface Head extends FileMarks {
  tenure: string;
  version: number;
  written_at_ms: number;
}

function prepare(db: StoreFile['db']) {
  return {
    head: db.prepare<[], Head>('SELECT tenure, version, written_at_ms, inode, born FROM head'),
    earlier: db.prepare<[number], { id: string; version: number }>(
      'SELECT id, version FROM tenures ORDER BY n DESC LIMIT ?',
    ),
    begin: db.prepare(
      `INSERT OR REPLACE INTO head (one, tenure, version, written_at_ms, inode, born) VALUES (1, ?, ?, 0, ?, ?)`,
    ),
    endTenure: db.prepare('INSERT INTO tenures (id, version) VALUES (?, ?)'),
    forget: db.prepare('DELETE FROM tenures WHERE n <= (SELECT max(n) FROM tenures) - ?'),
    raise: db.prepare('UPDATE head SET version = version + 1, written_at_ms = ?'),
  };
}
