/** A restart of the cloud under robots that were online, on real websockets; the clock of presence is the test's. */
import type { Robot } from '@drover/shared/api/robots';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';
import { countStatements } from '../testing/statements.js';
import type { AdmissionBounds } from './admission.js';

const TWIST = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist', payload: {}, ttl_s: 60 };

describe('after a restart', () => {
  const dir = tempDir();
  const tokens = new Map<string, string>();
  let cloud: ConnectedCloud;
  let sinceStartMs: number;
  beforeEach(async () => {
    sinceStartMs = 0;
    cloud = await startConnectedCloud({ dataDir: dir.path });
    for (const id of ['waits', 'told', 'patient', 'dead']) {
      const { token } = await cloud.robot(id);
      tokens.set(id, token);
      await cloud.connect(token);
    }
    await cloud.stop();
    // Looks at who is lost come when the test says so.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await cloud.stop();
    dir.remove();
  });

  async function restarted(admission: Partial<AdmissionBounds>): Promise<void> {
    cloud = await startConnectedCloud({ dataDir: dir.path, admission, monotonicNow: () => sinceStartMs });
  }

  async function at(ms: number): Promise<void> {
    sinceStartMs = ms;
    await vi.advanceTimersByTimeAsync(1_000);
    // A read that is under way while a change is stored may still show what was before.
    while (cloud.unstored.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  const robot = async (id: string) => (await cloud.get<Robot>(`/robots/${id}`)).body;
  const call = (id: string) => cloud.peer(tokens.get(id) ?? '');
  /** What the robot is refused with. */
  const refusal = (id: string) =>
    new Promise<{ status: number; retryAfterS: number }>((resolve) => {
      const { socket } = call(id);
      socket.once('unexpected-response', (_request, { statusCode = 0, headers }) => {
        socket.terminate();
        resolve({ status: statusCode, retryAfterS: Number(headers['retry-after']) });
      });
    });

  it('a robot that was told to come later is online until then, one that does not come is not, and commands know it', async () => {
    await restarted({ openingMax: 0, waitingMax: 0 });
    const was = await robot('told');
    await at(19_500);
    expect(await refusal('told')).toEqual({ status: 503, retryAfterS: 2 });
    expect(await refusal('patient')).toEqual({ status: 503, retryAfterS: 3 });
    await at(20_500);
    expect(await Promise.all(['told', 'patient', 'dead'].map(async (id) => (await robot(id)).online))).toEqual([
      true,
      true,
      false,
    ]);
    const stateOf = async (id: string) => {
      const { uuid } = (await cloud.post<{ uuid: string }>(`/robots/${id}/commands`, { ...TWIST, ttl_s: 0 })).body;
      return (await cloud.get<{ error_code: string | null }>(`/commands/${uuid}/outcome`)).body.error_code;
    };
    expect([await stateOf('told'), await stateOf('dead')]).toEqual([null, 'robot_not_online']);
    // Nobody changed anything: it has been online since before the restart.
    await at(32_400);
    expect(await robot('told')).toEqual(was);
    await at(32_600);
    expect([(await robot('told')).online, (await robot('patient')).online]).toEqual([false, true]);
  });

  it('a robot that waits for its turn is online meanwhile', async () => {
    await restarted({ openingMax: 1 });
    const holder = call('told');
    await new Promise((resolve) => holder.socket.once('open', resolve));
    await at(19_500);
    const asked = vi.spyOn(cloud.services.robots, 'authenticateToken');
    const { socket } = call('waits');
    while (asked.mock.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await asked.mock.results[0]?.value;
    await at(20_500);
    expect([(await robot('waits')).online, (await robot('dead')).online]).toEqual([true, false]);
    socket.terminate();
  });

  it('robots that are told to come later cost a statement each, and write nothing', async () => {
    await restarted({ openingMax: 0, waitingMax: 0 });
    const ids = Array.from({ length: 40 }, () => [...tokens.keys()]).flat();
    const transactions = vi.spyOn(cloud.store.db, 'transaction');
    const counted = await countStatements(cloud.store);
    const answers = await Promise.all(ids.map(refusal));
    counted.restore();
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect([counted.statements(), transactions.mock.calls.length]).toEqual([ids.length, 0]);
    expect(cloud.refused()).toBe(ids.length);
  });
});
