import type { DataPoint, LogRecord } from '@drover/shared/api/data';
import type { Stream } from '@drover/shared/api/streams';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { type TestPoint, writePoints } from '../testing/batches.js';
import { startTestCloud, type TestCloud } from '../testing/cloud.js';

const AT = Date.parse('2026-11-21T12:00:00.000Z');

function log(msg: string, stampMs: number, more: Record<string, unknown> = {}): TestPoint {
  const payload = {
    stamp: { sec: 1, nanosec: 2 },
    level: 20,
    name: 'talker',
    msg,
    file: 'talker.py',
    function: 'main',
    line: 42,
    ...more,
  };
  return { source: '/rosout', type: 'rcl_interfaces/msg/Log', payload, stampMs, publisher: '/talker' };
}

function counter(value: number, stampMs: number, source = '/counter'): TestPoint {
  return { source, type: 'std_msgs/msg/Int64', payload: { data: value }, stampMs, publisher: '/counter_node' };
}

describe('reading data', () => {
  let cloud: TestCloud;
  let robot: RobotRef;
  beforeEach(async () => {
    cloud = await startTestCloud();
    robot = (await cloud.robot('rover-1')).ref;
  });
  afterEach(() => cloud.stop());

  const write = (...points: TestPoint[]) => writePoints(cloud.services.writer, robot, points, AT);
  const messages = async (query: string): Promise<string[]> => {
    const answer = await cloud.get<LogRecord[]>(`/robots/rover-1/logs?${query}`);
    expect(answer.status).toBe(200);
    return answer.body.map(({ msg }) => msg);
  };

  it('gives a log record its own fields', async () => {
    await write(log('hello', AT));
    const { body } = await cloud.get<LogRecord[]>('/robots/rover-1/logs');
    expect(body).toEqual([
      {
        uuid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        stamp: '2026-11-21T12:00:00.000Z',
        level: 'info',
        name: 'talker',
        file: 'talker.py',
        function: 'main',
        line: 42,
        msg: 'hello',
      },
    ]);
  });

  it.each([
    [10, 'debug'],
    [20, 'info'],
    [30, 'warn'],
    [40, 'error'],
    [50, 'fatal'],
    [0, 'debug'],
    [35, 'warn'],
    [255, 'fatal'],
  ])('shows level %i as %s', async (level, label) => {
    await write(log('hello', AT, { level }));
    expect((await cloud.get<LogRecord[]>('/robots/rover-1/logs')).body[0]?.level).toBe(label);
  });

  it('shows any other message as JSON text of its publisher, or of its source where that is not known', async () => {
    await write(counter(7, AT), {
      source: '/other',
      type: 'std_msgs/msg/String',
      payload: { data: 'é' },
      stampMs: AT - 1,
    });
    const { body } = await cloud.get<LogRecord[]>('/robots/rover-1/logs');
    expect(body[0]).toMatchObject({ level: 'info', name: '/counter_node', file: '', function: '', line: 0 });
    expect(body[0]?.msg).toBe('{"data":7}');
    expect(body[1]).toMatchObject({ name: '/other', msg: '{"data":"é"}' });
  });

  it('cuts such a text at 64 KiB, between characters', async () => {
    const cut = async (data: string) => {
      await write({ source: '/text', type: 'std_msgs/msg/String', payload: { data }, stampMs: AT });
      const [text = ''] = await messages('source=/text&latest_only=true');
      return text;
    };
    const whole = '{"data":""}'.length;
    expect(await cut('a'.repeat(65_536 - whole))).toHaveLength(65_536);
    expect(Buffer.byteLength(await cut('a'.repeat(70_000)))).toBe(65_536);
    const text = await cut(`a${'🤖'.repeat(20_000)}`);
    expect(Buffer.byteLength(text)).toBeGreaterThan(65_532);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536);
    expect(text.endsWith('🤖')).toBe(true);
  });

  it('gives a point the same uuid and stamp in /data, with its message whole', async () => {
    await write(counter(2 ** 53 - 1, AT));
    const [record] = (await cloud.get<LogRecord[]>('/robots/rover-1/logs')).body;
    const { body } = await cloud.get('/robots/rover-1/data');
    expect(body).toEqual([
      {
        uuid: record?.uuid,
        stamp: record?.stamp,
        source: '/counter',
        type: 'std_msgs/msg/Int64',
        payload: { data: 2 ** 53 - 1 },
      },
    ]);
  });

  it('gives every point a uuid of its own, the same at every read', async () => {
    await write(counter(1, AT), counter(2, AT), counter(3, AT, '/other'));
    const uuids = async () => (await cloud.get<DataPoint[]>('/robots/rover-1/data')).body.map(({ uuid }) => uuid);
    const first = await uuids();
    expect(new Set(first).size).toBe(3);
    expect(await uuids()).toEqual(first);
  });

  it('lists all sources merged, newest first by stamp, then by arrival', async () => {
    await write(counter(1, AT), log('b', AT + 5), counter(3, AT + 3, '/third'));
    await write(counter(4, AT + 1), log('late but older', AT - 10), counter(6, AT + 5, '/third'));
    expect(await messages('')).toEqual(['{"data":6}', 'b', '{"data":3}', '{"data":4}', '{"data":1}', 'late but older']);
    expect(await messages('limit=2&offset=1')).toEqual(['b', '{"data":3}']);
    expect(await messages('offset=6')).toEqual([]);
  });

  it('pages by before without a repeat or a gap while data arrives, also among points of one stamp', async () => {
    await write(...Array.from({ length: 20 }, (_, n) => counter(n, AT + Math.floor(n / 7), n % 2 ? '/a' : '/b')));
    const read: string[] = [];
    for (let page = 0, before = ''; page === 0 || before !== ''; page += 1) {
      const answer = await cloud.get<LogRecord[]>(`/robots/rover-1/logs?limit=3${before}`);
      expect(answer.status).toBe(200);
      read.push(...answer.body.map(({ msg }) => msg));
      const last = answer.body.at(-1);
      before = last ? `&before=${last.uuid}` : '';
      // Newest ones, which would push down what offset counts, also of a stamp that is being read.
      await write(counter(1_000 + page, AT + 2 - (page % 3), '/a'), counter(2_000 + page, AT + 10 + page, '/b'));
    }
    const first = Array.from({ length: 20 }, (_, n) => `{"data":${19 - n}}`);
    expect(read.filter((msg) => first.includes(msg))).toEqual(first);
    expect(new Set(read).size).toBe(read.length);
  });

  it('goes on by before within a source, upper case or not, and past an offset', async () => {
    await write(...[1, 2, 3, 4, 5].map((n) => counter(n, AT + n)), log('other', AT + 3));
    const [, second] = (await cloud.get<DataPoint[]>('/robots/rover-1/data?source=/counter')).body;
    const uuid = second?.uuid.toUpperCase();
    expect(await messages(`source=/counter&before=${uuid}`)).toEqual(['{"data":3}', '{"data":2}', '{"data":1}']);
    expect(await messages(`source=/counter&before=${uuid}&offset=1&limit=1`)).toEqual(['{"data":2}']);
  });

  it('refuses a before that is no uuid, or of no point that is kept, naming the way on', async () => {
    await write(counter(1, AT));
    const [point] = (await cloud.get<DataPoint[]>('/robots/rover-1/data')).body;
    const gone = point?.uuid.replace(/.{3}$/, (end) => (end === '000' ? '111' : '000'));
    for (const [query, words] of [
      ['before=last', /uuid/],
      [`before=${gone}`, /no longer kept: go on with to=2026-11-21T12:00:00\.000Z/],
      [`source=/other&before=${point?.uuid}`, /not among these sources/],
    ] as const) {
      const answer = await cloud.get<{ message: string; details: { path: string }[] }>(`/robots/rover-1/logs?${query}`);
      expect([answer.status, answer.body.details.map(({ path }) => path)]).toEqual([400, ['before']]);
      expect(answer.body.message).toMatch(words);
    }
  });

  it('stores points of ever new publishers without their name, once a source has had ten thousand', async () => {
    const { db } = cloud.store;
    await write(counter(1, AT));
    const { source_key, schema_key } = await db.selectFrom('channels').selectAll().executeTakeFirstOrThrow();
    for (let at = 1; at < 10_000; at += 1_111) {
      const names = Array.from({ length: 1_111 }, (_, n) => ({
        source_key,
        schema_key,
        publisher: `/talker_${at + n}`,
      }));
      await db.insertInto('channels').values(names).execute();
    }
    await write({ ...counter(2, AT + 1), publisher: '/talker_new' }, { ...counter(3, AT + 2), publisher: '/talker_5' });
    await write({ ...counter(4, AT + 3), publisher: '/talker_newer' });
    const { body } = await cloud.get<LogRecord[]>('/robots/rover-1/logs');
    expect(body.map(({ msg, name }) => [msg, name])).toEqual([
      ['{"data":4}', '/counter'],
      ['{"data":3}', '/talker_5'],
      ['{"data":2}', '/counter'],
      ['{"data":1}', '/counter_node'],
    ]);
    const { count } = await db
      .selectFrom('channels')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    expect(count).toBe(10_001);
  });

  it('merges more sources than one query takes', async () => {
    await write(...Array.from({ length: 450 }, (_, at) => counter(at, AT + at, `/source_${at % 430}`)));
    expect(await messages('limit=3')).toEqual(['{"data":449}', '{"data":448}', '{"data":447}']);
    expect(await messages('limit=2&offset=447')).toEqual(['{"data":2}', '{"data":1}']);
  });

  it('filters by source, plain, percent-encoded or encoded once more', async () => {
    await write(counter(1, AT), log('b', AT), counter(2, AT, '/ns/counter'));
    for (const source of ['/ns/counter', '%2Fns%2Fcounter', '%252Fns%252Fcounter']) {
      expect(await messages(`source=${source}`)).toEqual(['{"data":2}']);
    }
    expect(await messages('source=/never')).toEqual([]);
    expect(await messages('source=%25')).toEqual([]);
  });

  it('takes from and to as exclusive bounds of the stamp as shown', async () => {
    await write(...[0, 1, 2, 3].map((ms) => counter(ms, AT + ms)));
    const from = '2026-11-21T12:00:00.000Z';
    expect(await messages(`from=${from}`)).toEqual(['{"data":3}', '{"data":2}', '{"data":1}']);
    expect(await messages(`from=${from}&to=2026-11-21T12:00:00.002Z`)).toEqual(['{"data":1}']);
    expect(await messages('from=2026-11-21T12:00:00.0005Z&to=2026-11-21T12:00:00.0015Z')).toEqual(['{"data":1}']);
    expect(await messages(`from=2026-11-21T13:00:00.001%2B01:00`)).toEqual(['{"data":3}', '{"data":2}']);
    expect(await messages(`from=${from}&to=${from}`)).toEqual([]);
  });

  it('gives the latest only, whatever the page', async () => {
    await write(counter(1, AT), counter(3, AT + 2), counter(2, AT + 1));
    expect(await messages('latest_only=true')).toEqual(['{"data":3}']);
    expect(await messages('latest_only=true&offset=2&limit=5')).toEqual(['{"data":3}']);
  });

  it('lists a point whose bytes are no message of its type, and says so', async () => {
    await write({ ...counter(1, AT), cdr: new Uint8Array([0, 1, 0, 0, 9]) }, counter(2, AT + 1));
    const [good, bad] = (await cloud.get<LogRecord[]>('/robots/rover-1/logs')).body;
    expect(good?.msg).toBe('{"data":2}');
    expect(bad?.msg).toMatch(/std_msgs\/msg\/Int64 could not be decoded/);
    const data = (await cloud.get<DataPoint[]>('/robots/rover-1/data')).body;
    expect(data[1]?.payload).toEqual({ $undecodable: expect.any(String) });
  });

  it('refuses a page over 16 MiB, naming limit', async () => {
    const data = 'x'.repeat(3_000_000);
    await write(
      ...Array.from({ length: 6 }, (_, at) => ({
        source: '/large',
        type: 'std_msgs/msg/String',
        payload: { data },
        stampMs: AT + at,
      })),
    );
    const answer = await cloud.get('/robots/rover-1/data');
    expect([answer.status, answer.body.error_code]).toEqual([413, 'payload_too_large']);
    expect(answer.body.message).toContain('limit');
    expect((await cloud.get('/robots/rover-1/data?limit=5')).body).toHaveLength(5);
    // As log records they are cut, and fit.
    expect(await messages('')).toHaveLength(6);
  });

  it('keeps the points of a deleted stream readable, and counts them in a new one', async () => {
    const stream = { source: '/counter', type: 'std_msgs/Int64', hz: 5 };
    await cloud.post('/robots/rover-1/streams', stream);
    await write(counter(1, AT), counter(2, AT + 1000));
    expect((await cloud.delete('/robots/rover-1/streams/%2Fcounter')).status).toBe(204);
    expect(await messages('source=/counter')).toHaveLength(2);
    await cloud.post('/robots/rover-1/streams', stream);
    expect((await cloud.get<Stream[]>('/robots/rover-1/streams')).body[0]).toMatchObject({
      first_recording: '2026-11-21T12:00:00.000Z',
      last_recording: '2026-11-21T12:00:01.000Z',
      num_recordings: 2,
    });
  });

  it('deletes a deleted robot’s data in the background, and nobody else’s', async () => {
    const other = (await cloud.robot('rover-2')).ref;
    await write(...Array.from({ length: 1200 }, (_, at) => counter(at, AT + at)), log('a', AT));
    await cloud.post('/robots/rover-1/streams', { source: '/counter', type: 'std_msgs/Int64', hz: 5 });
    await writePoints(cloud.services.writer, other, [counter(5, AT)], AT);
    await cloud.delete('/robots/rover-1');
    await cloud.services.deletion.settled();
    const { db } = cloud.store;
    for (const table of ['points', 'sources', 'channels', 'spools', 'robots'] as const) {
      expect([table, (await db.selectFrom(table).selectAll().execute()).length]).toEqual([table, 1]);
    }
    expect(await db.selectFrom('streams').selectAll().execute()).toEqual([]);
    expect((await cloud.get('/robots/rover-2/data')).body).toHaveLength(1);
  });

  it('goes on deleting after a restart', async () => {
    await write(counter(1, AT));
    const { db } = cloud.store;
    // As a kill right after the answer leaves it.
    await db.updateTable('robots').set({ deleted_at_ms: AT }).where('key', '=', robot.key).execute();
    await cloud.services.deletion.start();
    await cloud.services.deletion.settled();
    expect(await db.selectFrom('robots').selectAll().execute()).toEqual([]);
    expect(await db.selectFrom('points').selectAll().execute()).toEqual([]);
  });
});
