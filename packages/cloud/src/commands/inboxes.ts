import type { Hello } from '@drover/shared/link/hello';
import { type Selectable, sql } from 'kysely';
import { prepared } from '../db/prepared.js';
import type { Db } from '../db/store.js';
import type { InboxesTable } from './table.js';

/** What the cloud was last told of an inbox. */
export type KnownInbox = Pick<Selectable<InboxesTable>, 'last_seq' | 'tenure' | 'version'>;

/** The state of an inbox that a session speaks for. */
export interface InboxRef {
  readonly id: string;
  /** The tenure it was in at hello, in which its versions count; undefined before link version 3. */
  readonly tenure?: string | undefined;
}

/**
 * Whether the file that speaks knows all that was ever told of its inbox, or is an old copy of it. Each state that a file
 * was ever in has a place in a tree: its tenure, and the version within. What was told is an ancestor of what speaks, or
 * the same, exactly where it is in its past at no lower a version. A cloud that was restored from a backup knows an
 * ancestor further back, which is as good.
 * @param known undefined where nothing was ever told.
 */
export function standing(known: KnownInbox | undefined, said: Hello['inbox']): 'current' | 'stale' {
  if (known === undefined) return 'current';
  const { lineage } = said;
  if (lineage === undefined || known.tenure === null) return said.last_seq < known.last_seq ? 'stale' : 'current';
  const place = [lineage, ...lineage.earlier].find((tenure) => tenure.id === known.tenure);
  return place !== undefined && place.version >= known.version ? 'current' : 'stale';
}

const findQuery = prepared((db, { robotKey, inboxId }: { robotKey: number; inboxId: string }) =>
  db
    .selectFrom('inboxes')
    .select(['last_seq', 'tenure', 'version'])
    .where('robot_key', '=', robotKey)
    .where('inbox_id', '=', inboxId),
);

interface Raise {
  readonly robotKey: number;
  readonly inboxId: string;
  readonly seq: number;
  readonly tenure: string | null;
  readonly version: number;
}

const raiseQuery = prepared((db, told: Raise) =>
  db
    .updateTable('inboxes')
    .set({
      last_seq: sql<number>`max(last_seq, ${told.seq})`,
      version: sql<number>`case when tenure = ${told.tenure} then max(version, ${told.version}) else version end`,
    })
    .where('robot_key', '=', told.robotKey)
    .where('inbox_id', '=', told.inboxId)
    .where(sql<boolean>`(last_seq < ${told.seq} or (tenure = ${told.tenure} and version < ${told.version}))`),
);

const noteQuery = prepared(
  (db, told: { robotKey: number; inboxId: string; last_seq: number; tenure: string | null; version: number }) => {
    const values = { last_seq: told.last_seq, tenure: told.tenure, version: told.version };
    return db
      .insertInto('inboxes')
      .values({ robot_key: told.robotKey, inbox_id: told.inboxId, ...values })
      .onConflict((conflict) => conflict.columns(['robot_key', 'inbox_id']).doUpdateSet(values));
  },
);

/** @returns what is known of the robot's inbox. */
export async function findInbox(db: Db, robotKey: number, inboxId: string): Promise<KnownInbox | undefined> {
  return (await findQuery(db, { robotKey, inboxId })).rows[0];
}

/** Notes what an inbox that is current says of itself; writes nothing where that is known. */
export async function noteInbox(
  db: Db,
  robotKey: number,
  known: KnownInbox | undefined,
  said: Hello['inbox'],
): Promise<void> {
  const { lineage, last_seq } = said;
  // An agent that tells no lineage must not take away what one that did has told.
  const tenure = lineage?.id ?? known?.tenure ?? null;
  const version = lineage?.version ?? known?.version ?? 0;
  if (known?.last_seq === last_seq && known.tenure === tenure && known.version === version) return;
  await noteQuery(db, { robotKey, inboxId: said.id, last_seq, tenure, version });
}

/** Raises what is known of an inbox by what a session told. @param told `seq`: of a command that it has taken. */
export async function raiseInbox(
  db: Db,
  robotKey: number,
  inbox: InboxRef,
  told: { seq?: number | undefined; version?: number | undefined },
): Promise<void> {
  // A newer run of the agent counts by its own tenure; what an older session brings late says nothing of that.
  const { id: inboxId, tenure = null } = inbox;
  await raiseQuery(db, { robotKey, inboxId, tenure, seq: told.seq ?? 0, version: told.version ?? 0 });
}
