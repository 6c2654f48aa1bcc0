import type { Database } from 'better-sqlite3';
import { type Sample, sourceOf } from './rows.js';

interface Channel {
  readonly source_id: number;
  readonly source: string;
  readonly type: string;
  readonly schema_hash: string;
  readonly publisher: string;
}

interface Source {
  readonly id: number;
  readonly name: string;
  rows: number;
  bytes: number;
}

/**
 * Who holds how much of the spool: sources and channels with their counters, mirrored in memory. Works inside the
 * store's transactions; after one that failed, reload() makes the mirror true again.
 */
export class SourceLedger {
  readonly #sql;
  #sources = new Map<number, Source>();
  #channels = new Map<number, Channel>();
  #channelIds = new Map<string, number>();
  #changed = new Set<number>();
  #total = { rows: 0, bytes: 0 };
  /** No row of the source that could be dropped has a smaller id: spares walking again over those that could not. */
  readonly #oldestHints = new Map<number, number>();

  constructor(db: Database) {
    this.#sql = prepare(db);
  }

  /** Reads everything from the file again. */
  reload(): void {
    this.#sources = new Map(this.#sql.sources.all().map((source) => [source.id, source]));
    this.#channels = new Map();
    this.#channelIds = new Map();
    for (const { id, ...channel } of this.#sql.channels.all()) this.#remember(id, channel);
    this.#changed.clear();
    this.#oldestHints.clear();
    this.#total = { rows: 0, bytes: 0 };
    for (const source of this.#sources.values()) {
      this.#total.rows += source.rows;
      this.#total.bytes += source.bytes;
    }
  }

  /** Forgets channels, sources and schemas; only while no row refers to one. */
  forgetUnused(): void {
    this.#sql.forget();
    this.reload();
  }

  total(): { rows: number; bytes: number } {
    return { ...this.#total };
  }

  channel(id: number): Channel | undefined {
    return this.#channels.get(id);
  }

  sourceOf(channel: number): string {
    return this.#channels.get(channel)?.source ?? '';
  }

  /** The channel of a sample, made with its source and its schema where it is the first. */
  channelFor(sample: Sample): number {
    const name = sourceOf(sample);
    const point = sample.kind === 'point' ? sample : null;
    const type = point?.type ?? '';
    const schemaHash = point?.schema.hash ?? '';
    const publisher = point?.publisher ?? '';
    const known = this.#channelIds.get(channelKey(name, type, schemaHash, publisher));
    if (known !== undefined) return known;
    if (point) this.#sql.insertSchema.run(schemaHash, type, point.schema.text);
    const sourceId = this.#sourceId(name);
    const id = Number(this.#sql.insertChannel.run(sourceId, type, schemaHash, publisher).lastInsertRowid);
    this.#remember(id, { source_id: sourceId, source: name, type, schema_hash: schemaHash, publisher });
    return id;
  }

  /** Adds to (or takes from) what a channel's source holds; save() writes it. */
  add(channel: number, rows: number, bytes: number): void {
    const source = this.#sources.get(this.#channels.get(channel)?.source_id ?? 0);
    if (!source) return;
    source.rows += rows;
    source.bytes += bytes;
    this.#changed.add(source.id);
    this.#total.rows += rows;
    this.#total.bytes += bytes;
  }

  /** Writes the counters that changed. */
  save(): void {
    for (const id of this.#changed) {
      const source = this.#sources.get(id);
      if (source) this.#sql.setHeld.run(source.rows, source.bytes, id);
    }
    this.#changed.clear();
  }

  /** The source that holds the most bytes, those in `except` left out. */
  biggest(except: ReadonlySet<number>): Readonly<Source> | null {
    let biggest: Source | null = null;
    for (const source of this.#sources.values()) {
      if (except.has(source.id) || source.rows === 0) continue;
      if (!biggest || source.bytes > biggest.bytes) biggest = source;
    }
    return biggest;
  }

  oldestHint(sourceId: number): number {
    return this.#oldestHints.get(sourceId) ?? 0;
  }

  setOldestHint(sourceId: number, id: number): void {
    this.#oldestHints.set(sourceId, id);
  }

  /** Undefined where nothing of that name was ever held. */
  idOf(name: string): number | undefined {
    for (const source of this.#sources.values()) if (source.name === name) return source.id;
    return undefined;
  }

  #sourceId(name: string): number {
    const known = this.idOf(name);
    if (known !== undefined) return known;
    const id = Number(this.#sql.insertSource.run(name).lastInsertRowid);
    this.#sources.set(id, { id, name, rows: 0, bytes: 0 });
    return id;
  }

  #remember(id: number, channel: Channel): void {
    this.#channels.set(id, channel);
    this.#channelIds.set(channelKey(channel.source, channel.type, channel.schema_hash, channel.publisher), id);
  }
}

function channelKey(source: string, type: string, schemaHash: string, publisher: string): string {
  return `${source} ${type} ${schemaHash} ${publisher}`;
}

function prepare(db: Database) {
  return {
    sources: db.prepare<[], Source>('SELECT id, name, held_rows AS rows, held_bytes AS bytes FROM sources'),
    channels: db.prepare<[], Channel & { id: number }>(
      `SELECT channels.id, source_id, sources.name AS source, type, schema_hash, publisher
       FROM channels JOIN sources ON sources.id = source_id`,
    ),
    insertSource: db.prepare('INSERT INTO sources (name) VALUES (?)'),
    insertSchema: db.prepare('INSERT OR IGNORE INTO schemas (hash, type, text) VALUES (?, ?, ?)'),
    insertChannel: db.prepare('INSERT INTO channels (source_id, type, schema_hash, publisher) VALUES (?, ?, ?, ?)'),
    setHeld: db.prepare('UPDATE sources SET held_rows = ?, held_bytes = ? WHERE id = ?'),
    forget: () => db.exec('DELETE FROM channels; DELETE FROM schemas; DELETE FROM sources'),
  };
}
