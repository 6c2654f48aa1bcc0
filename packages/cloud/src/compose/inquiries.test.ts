import { composePlan, serviceLogs } from '@drover/shared/api/compose-plan';
import type { ComposePlanAnswer } from '@drover/shared/link/compose-answers';
import type { Answer } from '@drover/shared/link/query';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';

const WEB = { services: { web: { image: 'nginx:1' } } };
const PATH = '/robots/rover-1/compose-file';
const FINE: ComposePlanAnswer = {
  running: null,
  services: [{ service: 'web', action: 'create', reason: null }],
  images: [{ image: 'nginx:1', present: false, pull: true, download_bytes: 5, message: null }],
  disk: { free_bytes: 100, needed_bytes: 5, fits: true },
  ports: [{ service: 'web', host_ip: '0.0.0.0', port: 80, protocol: 'tcp', free: true, taken_by: null }],
  refusals: [],
  error: null,
};

describe('what is asked of a robot about compose', () => {
  let cloud: ConnectedCloud;
  let token: string;
  beforeEach(async () => {
    cloud = await startConnectedCloud();
    ({ token } = await cloud.robot('rover-1'));
    await cloud.post('/compose-files', { id: 'stack-1', content: WEB });
  });
  afterEach(() => cloud.stop());

  const plan = (body: unknown = { id: 'stack-1' }) => cloud.post(`${PATH}/plan`, body);
  const logs = (query = '', service = 'web') => cloud.get(`${PATH}/services/${service}/logs${query}`);

  /** Connects the robot; the next question it is asked is answered so. `asked` is that question. */
  const answering = async (answer: Partial<Answer>) => {
    const { peer } = await cloud.connect(token);
    const asked = peer.next('query').then(({ id, question }) => {
      peer.say({ kind: 'answer', id, result: null, error: null, ...answer });
      return question;
    });
    return { asked };
  };

  describe('a plan', () => {
    it('of a stored file is of its newest version, or of the one that is named', async () => {
      const newer = { services: { web: { image: 'nginx:2' } } };
      await cloud.patch('/compose-files/stack-1', { content: newer });
      const first = await answering({ result: FINE });
      const { status, body } = await plan();
      expect([status, composePlan.parse(body)]).toEqual([200, { ok: true, ...FINE }]);
      expect(await first.asked).toEqual({ about: 'compose_plan', id: 'stack-1', version: 2, content: newer });
      const second = await answering({ result: FINE });
      await plan({ id: 'stack-1', version: 1 });
      expect(await second.asked).toMatchObject({ version: 1, content: WEB });
      // Nothing was assigned, whatever was planned.
      expect((await cloud.get(PATH)).body.error_code).toBe('compose_file_not_assigned');
    });

    it('of a document that is not stored is checked as one that is', async () => {
      const { asked } = await answering({ result: FINE });
      expect((await plan({ content: { services: { web: { imagee: 1 } } } })).body.details?.[0]?.path).toBe(
        'content.services.web',
      );
      expect((await plan({ content: WEB })).status).toBe(200);
      expect(await asked).toMatchObject({ content: WEB });
    });

    it.each([
      ['a refusal', { refusals: [{ rule: 'privileged', path: 'services.web.privileged', message: 'no' }] }],
      ['an error', { error: { code: 'docker_unavailable' as const, message: 'no engine' } }],
      ['a port that is taken', { ports: FINE.ports.map((port) => ({ ...port, free: false, taken_by: 'other' })) }],
      ['a disk too small', { disk: { ...FINE.disk, fits: false } }],
    ])('is not ok with %s', async (_name, speaksAgainst) => {
      await answering({ result: { ...FINE, ...speaksAgainst } });
      expect(composePlan.parse((await plan()).body)).toEqual({ ok: false, ...FINE, ...speaksAgainst });
    });

    it('is ok where it is not known whether the disk holds it', async () => {
      await answering({ result: { ...FINE, disk: { free_bytes: null, needed_bytes: null, fits: null } } });
      expect((await plan()).body).toMatchObject({ ok: true });
    });

    it.each([
      ['neither', {}, ''],
      ['both', { id: 'stack-1', content: WEB }, ''],
      ['a version of nothing', { content: WEB, version: 1 }, 'version'],
      ['an unknown field', { id: 'stack-1', volumes: true }, 'volumes'],
    ])('needs an id or a content: %s', async (_name, body, path) => {
      const answer = await plan(body);
      expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, path]);
    });

    it('is a 404 for a file, a version or a robot that is not there', async () => {
      expect((await plan({ id: 'nothing' })).body.error_code).toBe('compose_file_not_found');
      const version = await plan({ id: 'stack-1', version: 7 });
      expect([version.status, version.body.message]).toEqual([404, expect.stringContaining('newest is 1')]);
      const nobody = await cloud.post('/robots/nobody/compose-file/plan', { id: 'stack-1' });
      expect(nobody.body.error_code).toBe('robot_not_found');
    });
  });

  describe('the logs of a service', () => {
    const LINE = { stamp: '2026-11-21T12:00:00.123456789Z', stream: 'stdout', text: 'hello' } as const;

    it('are the last 100 lines of each container, or as many as are asked for', async () => {
      await cloud.post(PATH, { id: 'stack-1' });
      const result = { containers: [{ container: 'drover-web-1', lines: [LINE, { ...LINE, stamp: null }] }] };
      const first = await answering({ result });
      const { status, body } = await logs();
      expect([status, serviceLogs.parse(body)]).toEqual([200, { service: 'web', ...result }]);
      expect(await first.asked).toEqual({ about: 'compose_logs', service: 'web', tail: 100 });
      const second = await answering({ result });
      await logs('?tail=1000', 'my%2Fweb');
      expect(await second.asked).toMatchObject({ service: 'my/web', tail: 1000 });
      for (const tail of ['0', '1001', 'x', '1.5']) expect((await logs(`?tail=${tail}`)).status).toBe(400);
    });

    it('are a 404 where nothing was assigned, or the project has no such service', async () => {
      expect((await logs()).body.error_code).toBe('compose_file_not_assigned');
      await cloud.post(PATH, { id: 'stack-1' });
      await answering({ error: { code: 'unknown_service', message: 'there is no service wep; there is web' } });
      const answer = await logs('', 'wep');
      expect([answer.status, answer.body.error_code]).toEqual([404, 'not_found']);
      expect(answer.body.message).toContain('there is web');
    });
  });

  it('is a 503 that says what to do where the robot is offline, or its agent knows nothing of compose', async () => {
    await cloud.post(PATH, { id: 'stack-1' });
    for (const ask of [plan, logs]) {
      const answer = await ask();
      expect([answer.status, answer.body.error_code]).toEqual([503, 'unavailable']);
      expect(answer.body.message).toMatch(/offline/);
    }
    const { peer, desired } = await cloud.connect(token, { linkVersion: 4 });
    expect(desired.compose?.id).toBe('stack-1');
    for (const ask of [plan, logs, () => cloud.get(`${PATH}/detail`), () => cloud.get(`${PATH}/services`)]) {
      await cloud.services.links.settled();
      const answer = await ask();
      expect([answer.status, answer.body.error_code]).toEqual([503, 'unavailable']);
      expect(answer.body.message).toMatch(/update the agent/);
    }
    expect((await cloud.get<{ state: string }>(PATH)).body.state).toBe('pending_up');
    // A question that it does not know would have ended its session.
    expect(peer.unread).not.toContain('query');
  });
});
