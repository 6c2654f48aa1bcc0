import type { Statement } from 'better-sqlite3';
import type { Store } from '../db/store.js';

const OF_GROUPS = /^(begin|commit|savepoint|release|rollback)\b/i;

/** For tests: counts the statements that this process runs, on any store, beside what begins and ends groups of them. */
export async function countStatements(store: Store): Promise<{ statements: () => number; restore: () => void }> {
  let statements = 0;
  const prototype = await store.exclusive((raw) => Object.getPrototypeOf(raw.prepare('SELECT 1')) as Statement);
  const { run, get, all } = prototype;
  const counted = <A extends unknown[], R>(original: (...values: A) => R) =>
    function (this: Statement, ...values: A): R {
      if (!OF_GROUPS.test(this.source)) statements += 1;
      return original.apply(this, values);
    };
  Object.assign(prototype, { run: counted(run), get: counted(get), all: counted(all) });
  return { statements: () => statements, restore: () => Object.assign(prototype, { run, get, all }) };
}
