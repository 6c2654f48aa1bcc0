const TROUBLES: Readonly<Record<string, string>> = {
  ENOSPC: 'is full: make room on its disk (on most robots old images take it: docker image prune)',
  EDQUOT: "is full: the disk quota of the agent's user is used up",
  EROFS: 'can not be written to: its disk is mounted read-only, as systems do with one that fails',
};

/** What is to be done where nothing can be written down for compose; null: it is another kind of error. */
export function diskTrouble(error: unknown, directory: string): string | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const trouble = TROUBLES[code];
  return trouble === undefined ? null : `the agent's data directory (${directory}) ${trouble}`;
}
