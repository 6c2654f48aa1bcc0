import { robotComposeDetail, robotComposeService } from '@drover/shared/api/compose-detail';
import type { ComposeStatus } from '@drover/shared/link/compose-status';
import type { Desired } from '@drover/shared/link/desired';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
    return assignmentOf(await peer.next('desired'));
  };
  const remove = async (query = '') => {
    expect((await cloud.delete(PATH + query)).status).toBe(202);
    return (await peer.next('desired')).compose_removal;
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
    const { state, error_code } = (await cloud.get(PATH)).body;
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
});
