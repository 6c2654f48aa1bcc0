import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { QuarantinedError, type RosSource } from '../ros/graph.js';
import { silent, tempDataDir } from '../spool/fixture.js';
import { readCrumbs } from './crumbs.js';
import { Quarantine, type QuarantineOptions } from './quarantine.js';

const NOW = Date.UTC(2026, 0, 2);
const DAY_MS = 24 * 3600_000;
const CULPRIT: RosSource = { kind: 'subscription', name: '/culprit', type: 'std_msgs/msg/Int64' };
const SERVICE: RosSource = { kind: 'service', name: '/reset', type: 'std_srvs/srv/Trigger' };
const ACTION: RosSource = { kind: 'action', name: '/dock', type: 'test_msgs/action/Fibonacci' };

/** A new process of the agent in a data directory. */
function start(dataDir: string, previousEnd: string | null = null, options: Partial<QuarantineOptions> = {}) {
  return new Quarantine({ dataDir, previousEnd, wallNow: () => NOW, log: silent, ...options });
}

/** One that ends while it does `work`: nothing of it is undone, as no `finally` runs in a process that is gone. */
function crash(dataDir: string, work: (quarantine: Quarantine, gone: () => void) => void, previousEnd: string | null) {
  const quarantine = start(dataDir, previousEnd);
  work(quarantine, () => writeFileSync(join(dataDir, 'at-the-end'), readFileSync(join(dataDir, 'crumbs'))));
  writeFileSync(join(dataDir, 'crumbs'), readFileSync(join(dataDir, 'at-the-end')));
}

const crashTaking = (source: RosSource) => (quarantine: Quarantine, gone: () => void) =>
  quarantine.admit(source).during(gone);

function crashes(dataDir: string, source: RosSource, count: number): void {
  for (let n = 0; n < count; n += 1) {
    crash(dataDir, crashTaking(source), null);
    start(dataDir, 'SIGABRT');
  }
}

describe('a source', () => {
  it('is tried again after two crashes, and not touched any more after the third; others are', () => {
    const dataDir = tempDataDir();
    crashes(dataDir, CULPRIT, 2);
    expect(() => start(dataDir, 'SIGABRT').admit(CULPRIT)).not.toThrow();
    crash(dataDir, crashTaking(CULPRIT), null);
    const quarantine = start(dataDir, 'SIGSEGV');
    expect(() => quarantine.admit(CULPRIT)).toThrow(QuarantinedError);
    expect(() => quarantine.admit(CULPRIT)).toThrow(
      'the subscription /culprit is quarantined since 2026-01-02T00:00:00.000Z: the agent died 3 times while it was ' +
        'handled (at last of SIGSEGV). To lift it, disable its stream and enable it again, or stop the agent and start it again',
    );
    for (const other of [
      SERVICE,
      { ...CULPRIT, kind: 'publisher' as const },
      { ...CULPRIT, type: 'std_msgs/msg/Bool' },
    ]) {
      expect(quarantine.admit(other).during(() => 'handled')).toBe('handled');
    }
  });

  it.each([null, 'SIGKILL', 'SIGTERM', 'exit 70'])('is not accused where the process ended by %s', (end) => {
    const dataDir = tempDataDir();
    for (let n = 0; n < 4; n += 1) crash(dataDir, crashTaking(CULPRIT), end);
    expect(() => start(dataDir, end).admit(CULPRIT)).not.toThrow();
  });

  it('is not accused once it was left, by a return or by a throw', () => {
    const dataDir = tempDataDir();
    for (let n = 0; n < 4; n += 1) {
      const quarantine = start(dataDir, 'SIGABRT');
      const admitted = quarantine.admit(CULPRIT);
      admitted.during(() => {});
      expect(() =>
        admitted.during(() => {
          throw new Error('ROS refused');
        }),
      ).toThrow('ROS refused');
      admitted.begin()();
    }
    expect(() => start(dataDir, 'SIGABRT').admit(CULPRIT)).not.toThrow();
  });

  it('stays quarantined over starts and power cuts, until a clean stop', () => {
    const dataDir = tempDataDir();
    crashes(dataDir, SERVICE, 3);
    expect(() => start(dataDir, 'SIGKILL', { wallNow: () => NOW + 30 * DAY_MS }).admit(SERVICE)).toThrow(
      QuarantinedError,
    );
    start(dataDir).close();
    expect(() => start(dataDir).admit(SERVICE)).not.toThrow();
  });

  it('is forgiven crashes of more than a week ago', () => {
    const dataDir = tempDataDir();
    crashes(dataDir, SERVICE, 2);
    const later = { wallNow: () => NOW + 8 * DAY_MS };
    start(dataDir, null, later).admit(SERVICE);
    crash(dataDir, crashTaking(SERVICE), null);
    expect(() => start(dataDir, 'SIGABRT', later).admit(SERVICE)).not.toThrow();
  });

  it('of a stream is let go by wanting it no more; what is still wanted and what is no subscription stays', () => {
    const dataDir = tempDataDir();
    for (const source of [CULPRIT, SERVICE]) crashes(dataDir, source, 3);
    const quarantine = start(dataDir, 'SIGABRT');
    quarantine.keepSubscriptions([CULPRIT]);
    expect(() => quarantine.admit(CULPRIT)).toThrow(QuarantinedError);
    quarantine.keepSubscriptions([{ ...CULPRIT, type: 'std_msgs/msg/Bool' }]);
    for (const one of [quarantine, start(dataDir)]) {
      expect(() => one.admit(CULPRIT)).not.toThrow();
      expect(() => one.admit(SERVICE)).toThrow(QuarantinedError);
    }
  });
});

describe('who is accused', () => {
  it('is what native code was handling, though other work is under way', () => {
    const dataDir = tempDataDir();
    const work = (quarantine: Quarantine, gone: () => void) => {
      quarantine.admit(SERVICE).begin();
      quarantine.admit(CULPRIT).during(gone);
    };
    for (let n = 0; n < 3; n += 1) crash(dataDir, work, n === 0 ? null : 'SIGABRT');
    const quarantine = start(dataDir, 'SIGABRT');
    expect(() => quarantine.admit(CULPRIT)).toThrow(QuarantinedError);
    expect(() => quarantine.admit(SERVICE)).not.toThrow();
  });

  it('is all that was under way where native code was handling nothing of ours', () => {
    const dataDir = tempDataDir();
    const work = (quarantine: Quarantine, gone: () => void) => {
      const ended = quarantine.admit(CULPRIT).begin();
      quarantine.admit(SERVICE).begin();
      quarantine.admit(ACTION).begin();
      // Twice under way is under way until both have ended.
      quarantine.admit(ACTION).begin()();
      ended();
      gone();
    };
    for (let n = 0; n < 3; n += 1) crash(dataDir, work, n === 0 ? null : 'SIGABRT');
    const quarantine = start(dataDir, 'SIGABRT');
    expect(() => quarantine.admit(SERVICE)).toThrow(QuarantinedError);
    expect(() => quarantine.admit(ACTION)).toThrow(QuarantinedError);
    expect(() => quarantine.admit(CULPRIT)).not.toThrow();
  });

  it('is known after a real abort', () => {
    const dataDir = tempDataDir();
    const module = fileURLToPath(new URL('../../dist/quarantine/quarantine.js', import.meta.url));
    const script = `import { Quarantine } from ${JSON.stringify(module)};
      const log = { info() {}, warn() {}, error() {} };
      const quarantine = new Quarantine({ dataDir: process.argv[1], previousEnd: null, wallNow: Date.now, log });
      quarantine.admit(${JSON.stringify(SERVICE)}).begin();
      quarantine.admit(${JSON.stringify(CULPRIT)}).during(() => process.abort());`;
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script, dataDir]);
    expect(signal).toBe('SIGABRT');
    expect(readCrumbs(join(dataDir, 'crumbs'))).toEqual({ handled: CULPRIT, underWay: [SERVICE] });
  });

  it('is told among more sources than there is room for', () => {
    const dataDir = tempDataDir();
    crash(
      dataDir,
      (quarantine, gone) => {
        quarantine.admit(SERVICE).begin();
        const many = Array.from({ length: 1000 }, (_, n) => quarantine.admit({ ...CULPRIT, name: `/topic_${n}` }));
        for (let round = 0; round < 2; round += 1) for (const one of many) one.during(() => {});
        many[7]?.during(gone);
      },
      null,
    );
    expect(readCrumbs(join(dataDir, 'crumbs'))).toEqual({
      handled: { ...CULPRIT, name: '/topic_7' },
      underWay: [SERVICE],
    });
  });
});

describe('files that are broken', () => {
  it.each([
    ['crumbs', ''],
    ['crumbs', 'garbage'],
    ['crumbs', 'x'.repeat(200_000)],
    ['quarantine.json', '{"accused": [{"kind": 1}]}'],
    ['quarantine.json', '\0\0\0'],
  ])('%s: the agent starts, and notes what it handles from then on', (file, text) => {
    const dataDir = tempDataDir();
    writeFileSync(join(dataDir, file), text);
    start(dataDir, 'SIGABRT');
    crashes(dataDir, CULPRIT, 3);
    expect(() => start(dataDir, 'SIGABRT').admit(CULPRIT)).toThrow(QuarantinedError);
  });

  it('a slot that says nonsense accuses nobody', () => {
    const dataDir = tempDataDir();
    crash(dataDir, crashTaking(CULPRIT), null);
    const crumbs = readFileSync(join(dataDir, 'crumbs'));
    crumbs.writeUInt16LE(65_535, 33);
    writeFileSync(join(dataDir, 'crumbs'), crumbs);
    expect(readCrumbs(join(dataDir, 'crumbs'))).toEqual({ handled: null, underWay: [] });
    expect(() => start(dataDir, 'SIGABRT')).not.toThrow();
  });

  it('a data directory that takes no files costs only the memory', () => {
    const quarantine = start('/dev/null', 'SIGABRT');
    expect(quarantine.admit(CULPRIT).during(() => 'handled')).toBe('handled');
    quarantine.close();
  });
});
