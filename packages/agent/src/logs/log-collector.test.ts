import type { LogLevel } from '@drover/shared/link/desired';
import { describe, expect, it, onTestFinished } from 'vitest';
import { setUpCollecting, stream } from '../streams/fixture.js';
import { LOG_TYPE, LogCollector, ROSOUT } from './log-collector.js';

async function setUp() {
  const parts = await setUpCollecting();
  const logs = new LogCollector(parts.deps);
  onTestFinished(() => logs.stop());
  /** One record of each level. */
  const said = async (levels: LogLevel[]) => {
    for (const level of levels) await parts.peer.log(level, `a ${level}`);
  };
  const kept = async () => (await parts.messages(ROSOUT)).map(({ msg }) => msg);
  const heard = async () => {
    while (parts.points(ROSOUT).length === 0) {
      await parts.peer.log('fatal', 'are you there?');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // Records come in order: after this one none of the above is on its way.
    await parts.peer.log('fatal', 'now');
    while ((await kept()).at(-1) !== 'now') await new Promise((resolve) => setTimeout(resolve, 5));
    parts.samples.length = 0;
  };
  return { ...parts, logs, said, kept, heard };
}

const rosoutStream = stream({ source: ROSOUT, type: LOG_TYPE, hz: 1000 });
const all: LogLevel[] = ['debug', 'info', 'warn', 'error', 'fatal'];

describe('log collection', () => {
  it.each<[LogLevel, string[]]>([
    ['info', ['a info', 'a warn', 'a error', 'a fatal']],
    ['error', ['a error', 'a fatal']],
  ])("keeps every record at %s and above, with the record's own stamp", async (min_level, expected) => {
    const { logs, said, kept, heard, points, until } = await setUp();
    logs.apply({ enabled: true, min_level }, null);
    await heard();
    const before = Date.now();
    await said(all);
    await until(() => points(ROSOUT).length >= expected.length);
    expect(await kept()).toEqual(expected);
    for (const point of points(ROSOUT)) expect(Math.abs(point.robotStampMs - before)).toBeLessThan(1_000);
  });

  it('and a stream on /rosout store a record once, the stream those that the level leaves out', async () => {
    const { logs, said, kept, heard, points, until } = await setUp();
    logs.apply({ enabled: true, min_level: 'error' }, rosoutStream);
    await heard();
    await said(all);
    await until(() => points(ROSOUT).length >= 5);
    expect(((await kept()) as string[]).sort()).toEqual(['a debug', 'a error', 'a fatal', 'a info', 'a warn']);
  });

  it('drops a record over the bound of the stream, counted, and keeps it where log collection wants it', async () => {
    const { logs, peer, kept, heard, points, drops, until } = await setUp();
    const long = 'x'.repeat(500);
    const small = { ...rosoutStream, max_message_bytes: 400 };
    logs.apply({ enabled: true, min_level: 'error' }, small);
    await heard();
    await peer.log('warn', long);
    await peer.log('error', long);
    await peer.log('warn', 'short');
    await until(() => points(ROSOUT).length >= 2);
    expect(await kept()).toEqual([long, 'short']);
    expect(drops).toMatchObject([{ source: ROSOUT, reason: 'too_large', rows: 1 }]);
  });

  it('tells how the stream on /rosout does, where there is one', async () => {
    const { logs, heard } = await setUp();
    logs.apply({ enabled: true, min_level: 'info' }, null);
    await heard();
    expect(logs.watched).toEqual([]);
    logs.apply({ enabled: true, min_level: 'info' }, rosoutStream);
    expect(logs.watched).toMatchObject([{ source: ROSOUT, type: LOG_TYPE, view: { failure: null } }]);
    expect(logs.watched[0]?.view?.received).toBeGreaterThan(0);
    logs.apply({ enabled: true, min_level: 'info' }, { ...rosoutStream, enabled: false });
    expect(logs.watched).toMatchObject([{ source: ROSOUT, view: null }]);
  });

  it('switched off: the stream keeps the record that waited for its turn, though none follows it', async () => {
    const { logs, said, kept, heard, points, until } = await setUp();
    logs.apply({ enabled: true, min_level: 'info' }, null);
    await heard();
    logs.apply({ enabled: false, min_level: 'info' }, { ...rosoutStream, hz: 2 });
    await said(['info', 'warn']);
    await until(() => points(ROSOUT).length >= 2);
    expect(await kept()).toEqual(['a info', 'a warn']);
  });

  it('switched off leaves the stream collecting, and both off leave nothing', async () => {
    const { logs, said, kept, heard, points, samples, until } = await setUp();
    logs.apply({ enabled: false, min_level: 'info' }, rosoutStream);
    await heard();
    await said(['warn']);
    await until(() => points(ROSOUT).length >= 1);
    expect(await kept()).toEqual(['a warn']);
    logs.apply({ enabled: false, min_level: 'info' }, null);
    await logs.stop();
    await said(['error']);
    samples.length = 0;
    logs.apply({ enabled: true, min_level: 'info' }, null);
    await heard();
    await said(['fatal']);
    await until(() => points(ROSOUT).length >= 1);
    expect(await kept()).toEqual(['a fatal']);
  });
});
