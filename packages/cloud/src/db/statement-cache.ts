import type { Database, Statement } from 'better-sqlite3';

/** More than there are queries in the program; those with lists of any length are what could grow without end. */
const STATEMENTS_MAX = 500;

/** What Kysely's driver needs of a database. */
export interface PreparedDatabase {
  prepare(sql: string): Statement;
  close(): void;
}

/**
 * The database with the statements that were prepared once kept, the ones used last. Kysely prepares a query each time it runs,
 * which costs more than most of ours take to run. SQLite itself prepares a kept one anew where the schema changed.
 */
export function withStatementCache(raw: Database): PreparedDatabase {
  const kept = new Map<string, Statement>();
  return {
    prepare: (sql) => {
      const statement = kept.get(sql) ?? raw.prepare(sql);
      kept.delete(sql);
      kept.set(sql, statement);
      if (kept.size > STATEMENTS_MAX) {
        const [longestUnused] = kept.keys();
        if (longestUnused !== undefined) kept.delete(longestUnused);
      }
      return statement;
    },
    close: () => {
      kept.clear();
      raw.close();
    },
  };
}
