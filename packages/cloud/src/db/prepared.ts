import type { CompiledQuery, DialectAdapter, QueryResult } from 'kysely';
import { DirectAdapter } from './direct.js';
import type { Db } from './store.js';

/** A query as one kind of store takes it, and which of its parameters are which values; the others are its own. */
interface Compiled<V, R> {
  readonly query: CompiledQuery<R>;
  readonly keys: readonly (keyof V | undefined)[];
}

/**
 * A query that is built and compiled once for each connection to a store: to do so each time costs several times what SQLite takes
 * to run it. `build` is called with a stand-in for each value that it takes from `values`, so it must not look at them, nor leave
 * parts out by them.
 * In a transaction, and on the store's `reads`, it runs at once, without a turn through Kysely.
 */
export function prepared<V extends object, R = unknown>(
  build: (db: Db, values: V) => { compile(): CompiledQuery<R> },
): (db: Db, values: V) => Promise<QueryResult<R>> {
  // By what transactions share with the connection they are on: another kind of store has SQL of its own.
  const made = new WeakMap<DialectAdapter, Compiled<V, R>>();
  // Async: what SQLite throws rejects.
  return async (db, values) => {
    const { adapter } = db.getExecutor();
    const known = made.get(adapter);
    const { query, keys } = known ?? compiled(db, build);
    if (!known) made.set(adapter, { query, keys });
    const parameters = keys.map((key, at) => (key === undefined ? query.parameters[at] : values[key]));
    if (adapter instanceof DirectAdapter && adapter.mayRun(db)) return adapter.run(query, parameters);
    return db.executeQuery({ ...query, parameters });
  };
}

function compiled<V extends object, R>(
  db: Db,
  build: (db: Db, values: V) => { compile(): CompiledQuery<R> },
): Compiled<V, R> {
  const keyOf = new Map<unknown, keyof V>();
  const standIns = new Proxy({} as V, {
    get: (_values, key) => {
      const standIn = Symbol(String(key));
      keyOf.set(standIn, key as keyof V);
      return standIn;
    },
  });
  const query = build(db, standIns).compile();
  return { query, keys: query.parameters.map((parameter) => keyOf.get(parameter)) };
}
