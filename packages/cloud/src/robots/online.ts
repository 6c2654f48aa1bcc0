/** Changes of `online` that the store has not taken yet, by robot's key: the newest of each. Held in memory only. */
export type UnstoredPresence = ReadonlyMap<number, { readonly online: boolean; readonly atMs: number }>;

/**
 * A robot's row as it would be had the store taken what it has not yet: a store that takes no writes must not show a robot
 * as online for hours after it left. A change to what the row says already changes nothing, as in the store.
 */
export function withUnstored<R extends { online: number; online_updated_at_ms?: number }>(
  row: R,
  change: { readonly online: boolean; readonly atMs: number } | undefined,
): R {
  if (!change || change.online === (row.online === 1)) return row;
  return { ...row, online: change.online ? 1 : 0, online_updated_at_ms: Math.floor(change.atMs) };
}
