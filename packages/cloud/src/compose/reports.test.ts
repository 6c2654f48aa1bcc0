import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { robotComposeDetail, robotComposeService } from '@drover/shared/api/compose-detail';
import type { ComposeStatus } from '@drover/shared/link/compose-status';
import type { Desired } from '@drover/shared/link/desired';
import { CloseCode } from '@drover/shared/link/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backUpStore } from '../db/backup.js';
import { STORE_FILE } from '../db/store.js';
import { tempDir } from '../testing/cloud.js';
import { type ConnectedCloud, composeStatus, startConnectedCloud } from '../testing/connected-cloud.js';

const WEB = { services: { web: { image: 'nginx:1' } } };
const NEWER = { services: { web: { image: 'nginx:2' } } };
const PATH = '/robots/rover-1/compose-file';

describe('what a robot tells of its compose file', () => {
  let cloud: ConnectedCloud;
  let robot: Awaited<ReturnType<ConnectedCloud['robot']>>;
  let peer: Awaited<ReturnType<ConnectedCloud['connect']>>['peer'];
  beforeEach(async () => {
    cloud = await startConnectedCloud();
    robot = await cloud.robot('rover-1');
    await cloud.post('/compose-files', { id: 'stack-1', content: WEB });
    ({ peer } = await cloud.connect(robot.token));
  });
  afterEach(() => cloud.stop());

  /** What the robot is told when it is put on, or taken off. */
  const assign = async (body: object = { id: 'stack-1' }) => {
    expect((await cloud.post(PATH, body)).status).toBe(202);
    return assignmentOf(await newest());
  };
  const remove = async (query = '') => {
    expect((await cloud.delete(PATH + query)).status).toBe(202);
    return (await newest()).compose_removal;
  };
  /** Changes in quick succession may come as one. */
  const newest = async () => {
    const { revision } = await cloud.services.desired.forRobot(robot.ref.key);
    for (;;) {
      const desired = await peer.next('desired');
      if (desired.revision === revision) return desired;
    }
  };
  const assignmentOf = ({ compose }: Desired) => {
    if (!compose?.assignment) throw new Error('nothing is assigned');
    return { ...compose, assignment: compose.assignment };
  };
  /** Says it, and waits until it is written. */
  const tell = async (assignment: string, overrides: Partial<ComposeStatus> = {}) => {
    const inOrder = peer.next('clock_reply');
    peer.say(composeStatus(assignment, overrides));
    peer.say({ kind: 'clock_request', robot_sent_ms: 1, measured: null });
    await inOrder;
    await cloud.services.composeReports.settled();
  };
  const onRobot = async () => {
    const { state, error_code } = (await cloud.get<{ state: string; error_code: string | null }>(PATH)).body;
    return [state, error_code];
  };
  const detail = async () => robotComposeDetail.parse((await cloud.get(`${PATH}/detail`)).body);
  const services = async () => robotComposeService.array().parse((await cloud.get(`${PATH}/services`)).body);

  it('takes an assignment up, and its removal down', async () => {
    const { assignment } = await assign();
    expect(await onRobot()).toEqual(['pending_up', null]);
    await tell(assignment, { state: 'pending_up', phase: 'pulling' });
    expect(await onRobot()).toEqual(['pending_up', null]);
    await tell(assignment);
    expect(await onRobot()).toEqual(['up', null]);
    const removal = await remove();
    expect(removal).toMatchObject({ volumes: false });
    expect(await onRobot()).toEqual(['pending_down', null]);
    await tell(removal?.assignment ?? '', { state: 'down' });
    expect(await onRobot()).toEqual(['down', null]);
    expect((await cloud.delete('/compose-files/stack-1')).status).toBe(204);
  });

  it('counts for the assignment that it names: what comes late of an older one changes no state', async () => {
    const first = await assign();
    await tell(first.assignment);
    // The same version once more: another try.
    const second = await assign();
    expect([second.version, second.assignment === first.assignment]).toEqual([1, false]);
    expect(await onRobot()).toEqual(['pending_up', null]);
    await tell(first.assignment, { state: 'error', error_code: 'unhealthy', error_message: 'old news', phase: 'idle' });
    expect(await onRobot()).toEqual(['pending_up', null]);
    expect(await detail()).toMatchObject({ state: 'pending_up', error_message: null, phase: null });
    await tell(second.assignment);
    expect(await onRobot()).toEqual(['up', null]);
    await remove();
    await tell(second.assignment, { state: 'error', error_code: 'start_failed' });
    expect(await onRobot()).toEqual(['pending_down', null]);
  });

  it('shows which version failed and why, what runs instead, and the engine’s words', async () => {
    const good = await assign();
    await tell(good.assignment, { running: { id: 'stack-1', version: 1 } });
    await cloud.patch('/compose-files/stack-1', { content: NEWER });
    const bad = await assign({ id: 'stack-1', override_lock: true });
    expect(bad).toMatchObject({ version: 2, content: NEWER, override_lock: true });
    const images = [{ image: 'nginx:2', state: 'pulling', percent: 41.5, message: 'Downloading' }] as const;
    await tell(bad.assignment, { state: 'pending_up', phase: 'pulling', images: [...images] });
    expect(await detail()).toMatchObject({ phase: 'pulling', images, running: null, override_lock: true });
    const failed = { id: 'stack-1', version: 2, error_code: 'unhealthy', message: 'web: unhealthy' } as const;
    await tell(bad.assignment, {
      state: 'error',
      error_code: 'unhealthy',
      error_message: 'web did not become healthy within 60 s',
      running: { id: 'stack-1', version: 1 },
      failed: { ...failed, at_robot_ms: cloud.clock.nowMs - 5000 },
      engine_words: 'Container drover-web-1  Error',
      held_by: 'my-mission',
    });
    expect(await detail()).toEqual({
      id: 'stack-1',
      version: 2,
      assignment: bad.assignment,
      removal: null,
      override_lock: true,
      state: 'error',
      error_code: 'unhealthy',
      error_message: 'web did not become healthy within 60 s',
      phase: 'idle',
      running: { id: 'stack-1', version: 1 },
      failed: { ...failed, at: '2026-11-21T11:59:55.000Z' },
      images: [],
      engine_words: 'Container drover-web-1  Error',
      held_by: 'my-mission',
      online: true,
      reported_at: '2026-11-21T12:00:00.000Z',
    });
    expect((await cloud.get(PATH)).body).toMatchObject({ state: 'error', error_code: 'unhealthy', content: NEWER });
  });

  it('shows each container, since when by our clock', async () => {
    const { assignment } = await assign();
    expect(await services()).toEqual([]);
    const again = await cloud.connect(robot.token, { clockAheadMs: 3_600_000 });
    peer = again.peer;
    const web = {
      service: 'web',
      container: 'drover-web-1',
      image: 'nginx:1',
      state: 'running',
      health: 'starting',
      exit_code: null,
      restarts: 2,
    };
    const sinceMs = cloud.clock.nowMs + 3_600_000 - 10_000;
    await tell(assignment, {
      services: [
        { ...web, since_robot_ms: sinceMs },
        { ...web, since_robot_ms: null },
      ],
    });
    expect(await services()).toEqual([
      { ...web, since: '2026-11-21T11:59:50.000Z' },
      { ...web, since: null },
    ]);
  });

  it('makes no state of words that have no sense, and a code of its own for an error without one', async () => {
    const { assignment } = await assign();
    await tell(assignment, { state: 'down' });
    expect(await onRobot()).toEqual(['pending_up', null]);
    await tell(assignment, { state: 'up', error_code: 'unhealthy' });
    expect(await onRobot()).toEqual(['up', null]);
    await tell(assignment, { state: 'error' });
    expect(await onRobot()).toEqual(['error', 'start_failed']);
    const removal = (await remove())?.assignment ?? '';
    await tell(removal, { state: 'up' });
    expect(await onRobot()).toEqual(['pending_down', null]);
    await tell(removal, { state: 'error' });
    expect(await onRobot()).toEqual(['error', 'stop_failed']);
  });

  it('is in the order in which it was told, over sessions too: the older one is heard no more', async () => {
    const { assignment } = await assign();
    const older = peer;
    ({ peer } = await cloud.connect(robot.token));
    await tell(assignment);
    older.say(composeStatus(assignment, { state: 'error', error_code: 'unhealthy' }));
    expect((await older.closed).code).toBe(CloseCode.replaced);
    await cloud.services.composeReports.settled();
    expect(await onRobot()).toEqual(['up', null]);
  });

  it('tries a removal again that failed, or that should take the volumes along, and else leaves it be', async () => {
    await assign();
    const first = await remove();
    expect((await cloud.delete(PATH)).status).toBe(202);
    const withVolumes = await remove('?volumes=true');
    expect(withVolumes).toMatchObject({ volumes: true });
    expect(withVolumes?.assignment).not.toBe(first?.assignment);
    await tell(withVolumes?.assignment ?? '', { state: 'error', error_code: 'stop_failed' });
    // What failed is neither up nor down: the file stays in use, and the robot is told of the removal still.
    expect((await cloud.delete('/compose-files/stack-1')).body.error_code).toBe('compose_file_in_use');
    expect((await cloud.services.desired.forRobot(robot.ref.key)).compose_removal).toEqual(withVolumes);
    const again = await remove();
    expect(again).toMatchObject({ volumes: false });
    await tell(again?.assignment ?? '', { state: 'down' });
    // Nothing is left to do but for the volumes.
    const { revision } = await cloud.services.desired.forRobot(robot.ref.key);
    await cloud.delete(PATH);
    expect((await cloud.services.desired.forRobot(robot.ref.key)).compose_removal).toEqual(again);
    expect((await remove('?volumes=true'))?.volumes).toBe(true);
    expect((await cloud.services.desired.forRobot(robot.ref.key)).revision).toBeGreaterThan(revision);
    for (const query of ['volumes=yes', 'volume=true']) {
      expect([query, (await cloud.delete(`${PATH}?${query}`)).status]).toEqual([query, 400]);
    }
  });

  it('tells a removal that waits no longer to wait for the lock, which another without a word on it leaves so', async () => {
    await assign();
    const waiting = await remove();
    expect(waiting?.override_lock).toBe(false);
    const overriding = await remove('?override_lock=true');
    expect(overriding).toMatchObject({ volumes: false, override_lock: true });
    expect(overriding?.assignment).not.toBe(waiting?.assignment);
    expect((await detail()).override_lock).toBe(true);
    await cloud.delete(PATH);
    expect((await cloud.services.desired.forRobot(robot.ref.key)).compose_removal).toEqual(overriding);
  });

  it('asks for the volumes of a removal once: not of a robot that has done since what a backup knows nothing of', async () => {
    await assign();
    const removal = await remove('?volumes=true');
    expect(removal?.volumes).toBe(true);
    await tell(removal?.assignment ?? '', { state: 'down' });
    const again = await cloud.connect(robot.token);
    expect(again.desired.compose_removal).toEqual({ ...removal, volumes: false });
    expect(await detail()).toMatchObject({ state: 'down', removal: { volumes: true } });
  });

  it('keeps a file in use while it runs, though another one is assigned', async () => {
    const first = await assign();
    await tell(first.assignment, { running: { id: 'stack-1', version: 1 } });
    await cloud.post('/compose-files', { id: 'stack-2', content: NEWER });
    const second = await assign({ id: 'stack-2' });
    const used = await cloud.delete('/compose-files/stack-1');
    expect([used.status, used.body.error_code]).toEqual([409, 'compose_file_in_use']);
    expect(used.body.message).toContain('rover-1');
    await tell(second.assignment, { running: { id: 'stack-2', version: 1 } });
    expect((await cloud.delete('/compose-files/stack-1')).status).toBe(204);
  });

  it('goes with the robot, and a late word of a deleted one is left out', async () => {
    const { assignment } = await assign();
    await tell(assignment, { running: { id: 'stack-1', version: 1 } });
    await cloud.delete('/robots/rover-1');
    expect((await cloud.delete('/compose-files/stack-1')).status).toBe(204);
    cloud.services.composeReports.reported(robot.ref, composeStatus(assignment), 0, cloud.clock.nowMs);
    await cloud.services.composeReports.settled();
    await cloud.services.deletion.settled();
    for (const table of ['compose_status', 'robot_compose', 'robots'] as const) {
      expect(await cloud.store.db.selectFrom(table).selectAll().execute()).toEqual([]);
    }
  });
});

describe('what a robot told of its compose file, after', () => {
  it('a restart of the cloud and a return to a backup: the robot is told what was wanted then', async () => {
    const dir = tempDir();
    const begin = (name: string) => startConnectedCloud({ dataDir: join(dir.path, name) });
    let cloud = await begin('one');
    const robot = await cloud.robot('rover-1');
    const onRobot = async () => {
      const { status, body } = await cloud.get(`${PATH}/detail`);
      expect(status).toBe(200);
      return robotComposeDetail.parse(body);
    };
    const tell = async (status: ComposeStatus) => {
      cloud.services.composeReports.reported(robot.ref, status, 0, cloud.clock.nowMs);
      await cloud.services.composeReports.settled();
    };
    await cloud.post('/compose-files', { id: 'stack-1', content: WEB });
    const { peer } = await cloud.connect(robot.token);
    const assign = async () => {
      await cloud.post(PATH, { id: 'stack-1' });
      return (await peer.next('desired')).compose?.assignment ?? '';
    };
    const first = await assign();
    await tell(composeStatus(first, { running: { id: 'stack-1', version: 1 } }));
    mkdirSync(join(dir.path, 'two'));
    backUpStore(join(dir.path, 'one'), join(dir.path, 'two', STORE_FILE));
    await cloud.patch('/compose-files/stack-1', { content: NEWER });
    const second = await assign();
    const of2 = composeStatus(second, { running: { id: 'stack-1', version: 2 } });
    await tell(of2);
    await cloud.stop();

    cloud = await begin('one');
    expect(await onRobot()).toMatchObject({ state: 'up', version: 2, running: { version: 2 }, assignment: second });
    await cloud.stop();

    cloud = await begin('two');
    const { desired } = await cloud.connect(robot.token);
    expect(desired.compose).toMatchObject({ assignment: first, version: 1, content: WEB });
    // The robot's own assignment is one that this store never made: what runs is shown, the state is not touched.
    await tell(of2);
    expect(await onRobot()).toMatchObject({ state: 'up', version: 1, running: { version: 2 }, assignment: first });
    await tell(composeStatus(first, { state: 'pending_up', phase: 'starting', running: of2.running }));
    expect(await onRobot()).toMatchObject({ state: 'pending_up', phase: 'starting' });
    await cloud.stop();
    dir.remove();
  });
});
