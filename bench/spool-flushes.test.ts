import { expect, it } from 'vitest';
import { flushesIn } from './spool/flushes.js';

const traceOf = (...files: string[]) =>
  files
    .map((file, n) => `7 fsync(${n}</data/agent/${file}>) = 0`)
    .join('\n')
    .concat('\n');

const partsOf = (trace: string) => flushesIn(trace, '/data/agent').map(({ part }) => part);

it('tells what a checkpoint of the inbox flushes from its commits', () => {
  const trace = traceOf(
    ...['inbox.db-wal', 'spool.db-wal', 'inbox.db-wal', 'inbox.db-wal', 'inbox.db', 'spool.db-wal'],
    ...['inbox.db-wal', 'inbox.db-wal'],
  );
  expect(partsOf(trace)).toEqual([
    ...['command', 'spool', 'command', 'checkpoint', 'checkpoint', 'spool'],
    ...['checkpoint', 'command'],
  ]);
});

it('counts a flush that stands on two lines once, and none of other folders', () => {
  const trace = [
    '7 fsync(3</data/agent/inbox.db-wal> <unfinished ...>',
    '8 fsync(4</data/cloud/drover.db-wal>) = 0',
    '7 <... fsync resumed>)                   = 0',
    '7 fdatasync(5</data/agent/spool.db-wal>) = 0',
  ].join('\n');
  expect(partsOf(trace)).toEqual(['command', 'spool']);
});
