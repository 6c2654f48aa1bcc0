import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Peer } from '../gateway/test-peer.js';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';

const TWIST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist', payload: { linear: { x: 1 } } };
const of = (payload: Record<string, unknown>) => ({ ...TWIST, payload });

describe('POSTs that come together', () => {
  let cloud: ConnectedCloud;
  let peer: Peer;

  beforeEach(async () => {
    cloud = await startConnectedCloud();
    peer = (await cloud.connect((await cloud.robot('rover-1')).token)).peer;
  });

  afterEach(() => cloud.stop());

  const post = (body: object, key?: string) =>
    cloud.post<{ uuid: string; error_code?: string }>(
      '/robots/rover-1/commands',
      body,
      key === undefined ? {} : { 'idempotency-key': key },
    );
  const together = (count: number, body: (at: number) => object, key?: string) =>
    Promise.all(Array.from({ length: count }, (_, at) => post(body(at), key)));

  /** What the robot has been given until it hears of this last one. */
  async function given(): Promise<string[]> {
    const { uuid: last } = (await post(TWIST)).body;
    const uuids: string[] = [];
    while (uuids.at(-1) !== last) uuids.push((await peer.next('command')).uuid);
    return uuids.slice(0, -1);
  }

  it('make one command with one idempotency-key, which is given to the robot once', async () => {
    const answers = await together(10, () => TWIST, 'the same');
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
    const [uuid] = new Set(answers.map(({ body }) => body.uuid));
    expect(await given()).toEqual([uuid]);
  });

  it('conflict with one idempotency-key and two bodies', async () => {
    const answers = await together(10, (at) => of({ linear: { x: at } }), 'the same');
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
    expect(await given()).toHaveLength(1);
  });

  it('are all refused where the disk is full, keys and all, and none is given to the robot', async () => {
    await cloud.store.exclusive((raw) => raw.pragma(`max_page_count = ${raw.pragma('page_count', { simple: true })}`));
    const large = of({ text: 'x'.repeat(50_000) });
    const refused = [...(await together(10, () => large, 'the same')), ...(await together(10, () => large))];
    const ends = refused.map(({ status, headers, body }) => [status, headers.has('retry-after'), body.error_code]);
    expect(new Set(ends.map(String))).toEqual(new Set(['503,true,unavailable']));
    await cloud.store.exclusive((raw) => raw.pragma('max_page_count = 1000000'));
    const { status, body } = await post(large, 'the same');
    expect(status).toBe(201);
    expect(await given()).toEqual([body.uuid]);
  });

  it('are made or told that there is no such robot, where that is being deleted', async () => {
    const [answers] = await Promise.all([together(20, () => TWIST), cloud.delete('/robots/rover-1')]);
    for (const { status } of answers) expect([201, 404]).toContain(status);
    expect((await post(TWIST)).status).toBe(404);
  });
});
