import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Desired } from '@drover/shared/link/desired';
import type { UpMessage } from '@drover/shared/link/up';
import { describe, expect, it } from 'vitest';
import { silent, tempDataDir } from '../spool/fixture.js';
import { stream } from '../streams/fixture.js';
import { DesiredState } from './desired-state.js';

function document(revision: number, overrides: Partial<Desired> = {}): Desired {
  return {
    kind: 'desired',
    revision,
    vitals: { enabled: true, period_s: 5 },
    logs: { enabled: true, min_level: 'info' },
    streams: [],
    compose: null,
    ...overrides,
  };
}

function setUp(dataDir = tempDataDir()) {
  const applied: number[] = [];
  const said: UpMessage[] = [];
  const state = new DesiredState({ dataDir, log: silent, apply: ({ revision }) => void applied.push(revision) });
  const uplink = { send: (message: UpMessage) => void said.push(message) };
  return { state, applied, said, uplink, dataDir };
}

describe('the desired state', () => {
  it('is stored, applied, told, and applied again at the next start before any connection', () => {
    const first = setUp();
    first.state.start();
    expect(first.state.revision).toBeNull();
    first.state.opened(first.uplink, 'robot-1');
    first.state.receive(document(3, { streams: [stream()] }));
    expect(first.applied).toEqual([3]);
    expect(first.said).toEqual([{ kind: 'applied', revision: 3 }]);
    const second = setUp(first.dataDir);
    second.state.start();
    expect(second.applied).toEqual([3]);
    expect(second.state.revision).toBe(3);
  });

  it('of an older revision never replaces a newer one within a session, but the first of a session always counts', () => {
    const { state, applied, uplink } = setUp();
    state.opened(uplink, 'robot-1');
    state.receive(document(5));
    state.receive(document(4));
    state.receive(document(6));
    state.closed();
    state.opened(uplink, 'robot-1');
    state.receive(document(2));
    expect(applied).toEqual([5, 6, 2]);
  });

  it('of another robot counts for nothing', () => {
    const { state, uplink } = setUp();
    state.opened(uplink, 'robot-1');
    state.receive(document(5));
    state.opened(uplink, 'robot-2');
    expect(state.revision).toBeNull();
  });

  it('is written once, however often sessions bring it', () => {
    const { state, said, uplink, dataDir } = setUp();
    const path = join(dataDir, 'desired.json');
    state.opened(uplink, 'robot-1');
    state.receive(document(1));
    const { ino } = statSync(path);
    for (const next of [state, setUp(dataDir).state]) {
      if (next !== state) next.start();
      next.opened(uplink, 'robot-1');
      next.receive(document(1));
      expect(statSync(path).ino).toBe(ino);
    }
    expect(said.length).toBe(3);
    state.receive(document(2));
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ desired: { revision: 2 } });
  });

  it('that makes no sense on disk is set aside', () => {
    const dataDir = tempDataDir();
    writeFileSync(join(dataDir, 'desired.json'), '{"robot_id": "robot-1", "desired": {"revision": "new"}}');
    const { state, applied } = setUp(dataDir);
    state.start();
    expect(applied).toEqual([]);
    expect(readdirSync(dataDir)).toEqual(['desired.json.corrupt']);
  });

  it('applies also where the disk refuses it, and is then not told as stored', () => {
    const { state, applied, said, uplink, dataDir } = setUp();
    state.opened(uplink, 'robot-1');
    state.receive(document(1));
    // A directory where the new file is to be written refuses it, to root as well.
    mkdirSync(join(dataDir, 'desired.json.new'));
    state.receive(document(2));
    expect(applied).toEqual([1, 2]);
    expect(said).toEqual([{ kind: 'applied', revision: 1 }]);
    const restarted = setUp(dataDir);
    restarted.state.start();
    expect(restarted.applied).toEqual([1]);
  });
});
