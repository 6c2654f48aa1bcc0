/** A flush of the agent's, and what it was for. */
export interface Flush {
  /** `command`: of all that is not the spool's, but for the inbox's checkpoints. */
  readonly part: 'spool' | 'command' | 'checkpoint';
}

const SPOOL = 'spool.db';
const INBOX = 'inbox.db';
const INBOX_LOG = 'inbox.db-wal';

/**
 * The flushes in a trace by strace (`-yy`), in their order. Those of the inbox's file are checkpoints, which SQLite makes once a thousand
 * pages are in its log: it flushes the log, then the file, and with the next commit the log's new head. The others of the log are
 * commits, one each.
 *
 * A flush that was not over when strace wrote of it stands on two lines, of which the second names no file.
 */
export function flushesIn(trace: string, dataDir: string): Flush[] {
  const files = trace
    .split('\n')
    .filter((line) => line.includes('sync('))
    .map((line) => /<([^>]*)>/.exec(line)?.[1] ?? '')
    .filter((file) => file.startsWith(`${dataDir}/`) || file === dataDir)
    .map((file) => file.slice(dataDir.length + 1));
  const flushes: Flush[] = files.map((file) => ({ part: file.startsWith(SPOOL) ? 'spool' : 'command' }));
  const isLog = (file: string) => file === INBOX_LOG;
  for (const [index, file] of files.entries()) {
    if (file !== INBOX) continue;
    const logFlushes = [
      files.slice(0, index).findLastIndex(isLog),
      files.findIndex((other, n) => n > index && isLog(other)),
    ];
    for (const at of [index, ...logFlushes.filter((n) => n >= 0)]) flushes[at] = { part: 'checkpoint' };
  }
  return flushes;
}
