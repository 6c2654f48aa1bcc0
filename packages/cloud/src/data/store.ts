/** The reads of collected data. Each stays flat as tables grow: index steps for what is skipped, rows for what is shown. */
import type { Db } from '../db/store.js';

/** A page of points: of these sources, merged newest first by stamp, then by arrival. */
export interface PointPage {
  readonly sourceKeys: readonly number[];
  /** Both exclusive, milliseconds. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  /** Only what comes after this place in the order. */
  readonly before?: Pick<PointPlace, 'id' | 'stamp_ms'> | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** SQLite takes 500 parts of a compound query; more sources are read in groups. */
const SOURCES_A_QUERY = 200;

export interface PointPlace {
  readonly id: number;
  readonly stamp_ms: number;
  readonly channel_key: number;
}

/** A robot's sources that have points; only the one of that name where it is given. */
export function sourcesWithPoints(db: Db, robotKey: number, name?: string) {
  const all = db.selectFrom('sources').select('key').where('robot_key', '=', robotKey).where('point_count', '>', 0);
  return name === undefined ? all : all.where('name', '=', name);
}

/**
 * One query: each source's points come from its index in order, and SQLite merges them as it goes, so that a page costs its
 * own rows and what it skips, not what the sources hold. At least one source, at most SOURCES_A_QUERY.
 */
export function pointPlaces(db: Db, page: PointPage) {
  const [first = 0, ...others] = page.sourceKeys;
  const ofSource = (sourceKey: number) => {
    let query = db.selectFrom('points').select(['id', 'stamp_ms']).where('source_key', '=', sourceKey);
    if (page.fromMs !== undefined) query = query.where('stamp_ms', '>', page.fromMs);
    if (page.toMs !== undefined) query = query.where('stamp_ms', '<', page.toMs);
    const { before } = page;
    if (before !== undefined) {
      query = query
        .where('stamp_ms', '<=', before.stamp_ms)
        .where((where) => where.or([where('stamp_ms', '<', before.stamp_ms), where('id', '<', before.id)]));
    }
    return query;
  };
  let merged = ofSource(first);
  for (const sourceKey of others) merged = merged.unionAll(ofSource(sourceKey));
  return merged.orderBy('stamp_ms', 'desc').orderBy('id', 'desc').limit(page.limit).offset(page.offset);
}

/** Points of these sources with exactly this stamp. */
export async function pointsAt(
  db: Db,
  sourceKeys: readonly number[],
  stampMs: number,
  limit: number,
): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < sourceKeys.length && found.length < limit; at += SOURCES_A_QUERY) {
    const rows = await db
      .selectFrom('points')
      .select('id')
      .where('source_key', 'in', sourceKeys.slice(at, at + SOURCES_A_QUERY))
      .where('stamp_ms', '=', stampMs)
      .limit(limit - found.length)
      .execute();
    found.push(...rows.map(({ id }) => id));
  }
  return found;
}

/** The places of a page's points, in its order. */
export async function placesOfPage(db: Db, page: PointPage): Promise<{ id: number; stamp_ms: number }[]> {
  if (page.sourceKeys.length <= SOURCES_A_QUERY) {
    return page.sourceKeys.length === 0 ? [] : pointPlaces(db, page).execute();
  }
  const places: { id: number; stamp_ms: number }[] = [];
  for (let at = 0; at < page.sourceKeys.length; at += SOURCES_A_QUERY) {
    const sourceKeys = page.sourceKeys.slice(at, at + SOURCES_A_QUERY);
    places.push(
      ...(await pointPlaces(db, { ...page, sourceKeys, offset: 0, limit: page.offset + page.limit }).execute()),
    );
  }
  places.sort((a, b) => b.stamp_ms - a.stamp_ms || b.id - a.id);
  return places.slice(page.offset, page.offset + page.limit);
}

/** Size and channel of points, without their messages. */
export function pointHeads(db: Db, ids: readonly number[]) {
  return db
    .selectFrom('points')
    .select(['id', 'channel_key'])
    .select((select) => select.fn<number>('length', ['cdr']).as('bytes'))
    .where('id', 'in', [...ids]);
}

export function pointMessages(db: Db, ids: readonly number[]) {
  return db
    .selectFrom('points')
    .select(['id', 'cdr'])
    .where('id', 'in', [...ids]);
}

/** Where points came from, and what type they are. */
export function channelsByKey(db: Db, keys: readonly number[]) {
  return db
    .selectFrom('channels')
    .innerJoin('sources', 'sources.key', 'channels.source_key')
    .innerJoin('schemas', 'schemas.key', 'channels.schema_key')
    .select(['channels.key', 'channels.publisher', 'channels.schema_key', 'sources.name as source', 'schemas.type'])
    .where('channels.key', 'in', [...keys]);
}

export function schemaText(db: Db, key: number) {
  return db.selectFrom('schemas').select(['type', 'text']).where('key', '=', key);
}
