import type { Desired } from '@drover/shared/link/desired';
import { prepared } from '../db/prepared.js';
import type { Db } from '../db/store.js';
import { composeOfRobot } from './store.js';

const assigned = prepared((db, { robotKey }: { robotKey: number }) => composeOfRobot(db, robotKey));

/** What a robot is to run of compose, or how what was assigned before is taken down: that part of its desired state. */
export async function desiredCompose(db: Db, robotKey: number): Promise<Pick<Desired, 'compose' | 'compose_removal'>> {
  const [row] = (await assigned(db, { robotKey })).rows;
  if (!row) return { compose: null };
  const { id, version, name, assignment } = row;
  // Also where it is down already: a robot whose disk went back in time learns of it again. But volumes go once: were this store
  // set back to a backup, those would go that hold what the robot has done since.
  if (row.removal_volumes !== null) {
    const volumes = row.removal_volumes === 1 && row.state !== 'down';
    return { compose: null, compose_removal: { assignment, volumes, override_lock: row.override_lock === 1 } };
  }
  const content = JSON.parse(row.content) as Record<string, unknown>;
  return { compose: { id, version, name, content, assignment, override_lock: row.override_lock === 1 } };
}
