import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDocker } from '../support/docker/docker.js';
import { DockerRobot, ROBOT, runs } from '../support/docker/docker-robot.js';

describeDocker('a compose file on a robot', () => {
  let robot: DockerRobot;
  let v1: string;
  let v2: string;

  beforeAll(async () => {
    robot = await DockerRobot.start();
    [v1, v2] = await Promise.all([robot.images.make('runs', '1'), robot.images.make('runs', '2')]);
  });

  afterAll(async () => {
    await robot?.stop();
  });

  it('comes up, and its services are seen with their health', async () => {
    const healthy = await robot.images.make('healthy');
    const id = await robot.deploy({ services: { nav: runs(v1), lidar: runs(healthy) } });
    expect(await robot.running()).toEqual([`lidar ${healthy} running`, `nav ${v1} running`]);
    expect(await robot.services((all) => all.every(({ state }) => state === 'running'))).toMatchObject([
      { service: 'lidar', image: healthy, health: 'healthy', exit_code: null, restarts: 0 },
      { service: 'nav', image: v1, health: null, exit_code: null, restarts: 0 },
    ]);
    const since = (await robot.services()).map((service) => service.since);
    const started = (await robot.containers()).map(({ inspected }) => inspected.State.StartedAt);
    expect(since).toEqual(started.map((at) => new Date(at).toISOString()));
    expect(await robot.detail()).toMatchObject({
      id,
      state: 'up',
      phase: 'idle',
      running: { id, version: 1 },
      failed: null,
    });
  });

  it('is replaced by its new version when it is assigned again, and only what changed is made anew', async () => {
    const id = await robot.deploy({ services: { nav: runs(v1), arm: runs(v1) } });
    const before = await robot.containers();
    await robot.store({ services: { nav: runs(v2), arm: runs(v1) } }, id);
    expect(await robot.running()).toEqual([`arm ${v1} running`, `nav ${v1} running`]);
    await robot.assign(id);
    expect((await robot.settled()).state).toBe('up');
    expect(await robot.running()).toEqual([`arm ${v1} running`, `nav ${v2} running`]);
    const after = await robot.containers();
    expect(after[0]?.id).toBe(before[0]?.id);
    expect(after[1]?.id).not.toBe(before[1]?.id);
    expect(await robot.detail()).toMatchObject({ version: 2, running: { id, version: 2 } });
  });

  it.each([
    ['a service that exits', 'exits-3', 'start_failed', 'ended with 3', 'this can not work'],
    ['a service that never turns healthy', 'never-healthy', 'unhealthy', 'not healthy', 'the lidar is dark'],
  ] as const)(
    'gives way to the last good one where it has %s, which the detail names with its last words',
    async (_what, behaviour, code, message, words) => {
      const good = await robot.deploy({ services: { nav: runs(v1), old: runs(v1) } });
      const bad = await robot.images.make(behaviour);
      const failed = await robot.deploy({ services: { nav: runs(v2), lidar: runs(bad) } }, 'error');
      expect(await robot.settled()).toMatchObject({ id: failed, error_code: code });
      const detail = await robot.detail(({ phase }) => phase === 'idle');
      expect(detail).toMatchObject({
        running: { id: good, version: 1 },
        failed: { id: failed, version: 1, error_code: code },
      });
      expect(detail.error_message).toContain('lidar');
      expect(detail.error_message).toContain(message);
      expect(detail.engine_words).toContain(words);
      expect(await robot.running()).toEqual([`nav ${v1} running`, `old ${v1} running`]);
    },
  );

  it('leaves all as it is where an image is not to be had', async () => {
    const good = await robot.deploy({ services: { nav: runs(v1) } });
    const before = await robot.containers();
    const missing = `127.0.0.1:1/${robot.images.repository}:nowhere`;
    const failed = await robot.deploy({ services: { nav: runs(v2), lidar: runs(missing) } }, 'error');
    const detail = await robot.detail();
    expect(detail).toMatchObject({
      error_code: 'image_pull_failed',
      running: { id: good },
      failed: { id: failed, error_code: 'image_pull_failed' },
    });
    expect(detail.error_message).toContain(missing);
    expect(detail.images).toContainEqual(expect.objectContaining({ image: missing, state: 'failed' }));
    expect((await robot.containers()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  it('is told of as before after the cloud was killed, and the agent: what failed and why, what runs since when', async () => {
    await robot.deploy({ services: { nav: runs(v1), lidar: runs(await robot.images.make('healthy')) } });
    await robot.deploy({ services: { nav: runs(await robot.images.make('exits-3')) } }, 'error');
    const told = async () => {
      const { assignment, state, error_code, error_message, failed, running, engine_words, phase } = await robot.detail(
        ({ online, phase: now }) => online && now === 'idle',
      );
      const services = await robot.services((all) => all.every(({ health }) => health !== 'starting'));
      return { assignment, state, error_code, error_message, failed, running, engine_words, phase, services };
    };
    const before = await told();
    expect(before).toMatchObject({
      error_code: 'start_failed',
      engine_words: expect.stringContaining('this can not work'),
      services: [
        { service: 'lidar', state: 'running', health: 'healthy' },
        { service: 'nav', state: 'running' },
      ],
    });
    await robot.cloud.crashAndRestart();
    await robot.cloud.online(ROBOT);
    expect(await told()).toEqual(before);
    const { reported_at: reported } = await robot.detail();
    await robot.agent.crashAndRestart();
    await robot.detail(({ reported_at }) => reported_at !== reported);
    await expect.poll(told).toEqual(before);
  });

  it('leaves nothing where nothing was good before it', async () => {
    await robot.remove();
    expect((await robot.settled()).state).toBe('down');
    const failed = await robot.deploy({ services: { nav: runs(await robot.images.make('exits-3')) } }, 'error');
    expect(await robot.detail(({ phase }) => phase === 'idle')).toMatchObject({
      running: null,
      failed: { id: failed },
    });
    expect(await robot.running()).toEqual([]);
  });

  it('is taken down with its networks when it is removed, and its volumes only where that is asked', async () => {
    const volumes = () => robot.docker.lines('volume', 'ls', '-q', '--filter', `name=${robot.project}`);
    const id = await robot.deploy({
      services: { nav: runs(v1, { volumes: ['maps:/data'] }) },
      volumes: { maps: {} },
    });
    expect((await robot.cloud.call('DELETE', `/compose-files/${id}`)).body).toMatchObject({
      error_code: 'compose_file_in_use',
    });
    await robot.remove();
    expect(await robot.settled()).toMatchObject({ id, state: 'down', error_code: null });
    expect(await robot.running()).toEqual([]);
    expect(await robot.docker.lines('network', 'ls', '-q', '--filter', `name=${robot.project}`)).toEqual([]);
    expect(await volumes()).toEqual([`${robot.project}_maps`]);
    await robot.remove(true);
    expect(await robot.settled()).toMatchObject({ state: 'down' });
    expect(await volumes()).toEqual([]);
    expect((await robot.cloud.call('DELETE', `/compose-files/${id}`)).status).toBe(204);
  });

  it('may be assigned again while it is pending', async () => {
    const id = await robot.store({ services: { nav: runs(v1), slow: runs(await robot.images.make('healthy')) } });
    await robot.assign(id);
    await robot.detail(({ phase }) => phase === 'watching' || phase === 'starting' || phase === 'idle');
    await robot.assign(id);
    expect(await robot.settled()).toMatchObject({ id, state: 'up' });
    expect((await robot.running()).length).toBe(2);
  });

  it('is the last one of two that are assigned in quick succession, with nothing left of the first', async () => {
    const first = await robot.store({
      services: { nav: runs(v1), only_first: runs(v1) },
      networks: { first: {} },
    });
    const second = await robot.store({ services: { nav: runs(v2), only_second: runs(v2) } });
    for (const pause of ['at once', 'checking', 'starting', 'watching'] as const) {
      await robot.assign(first);
      if (pause !== 'at once') await robot.detail(({ phase }) => phase === pause || phase === 'idle');
      await robot.assign(second);
      expect(await robot.settled()).toMatchObject({ id: second, state: 'up' });
      expect(await robot.running()).toEqual([`nav ${v2} running`, `only_second ${v2} running`]);
      expect(await robot.detail()).toMatchObject({ running: { id: second }, failed: null });
    }
    const ids = (await robot.containers()).map(({ id }) => id);
    await robot.agent.crashAndRestart();
    await robot.cloud.online(ROBOT);
    expect((await robot.containers()).map(({ id }) => id)).toEqual(ids);
  });

  it('may be removed while it is pending, and assigned while it goes', async () => {
    const id = await robot.store({ services: { nav: runs(v1) } });
    await robot.assign(id);
    await robot.remove();
    expect(await robot.settled()).toMatchObject({ state: 'down' });
    expect(await robot.running()).toEqual([]);
    await robot.assign(id);
    expect(await robot.settled()).toMatchObject({ state: 'up' });
    await robot.remove();
    await robot.assign(id);
    expect(await robot.settled()).toMatchObject({ state: 'up' });
    expect(await robot.running()).toEqual([`nav ${v1} running`]);
  });

  it('is converged to again when somebody removed its containers by hand and the agent starts anew', async () => {
    await robot.deploy({ services: { nav: runs(v1), arm: runs(v1) } });
    const [arm] = await robot.containers();
    await robot.docker.run('rm', '-f', arm?.id ?? '');
    await robot.agent.crashAndRestart();
    await expect.poll(() => robot.running()).toEqual([`arm ${v1} running`, `nav ${v1} running`]);
    expect(await robot.settled()).toMatchObject({ state: 'up' });
  });

  it("has its services' last lines by the API", async () => {
    await robot.deploy({ services: { talker: runs(await robot.images.make('prints')) } });
    await expect.poll(() => robot.logs('talker')).toContain('err 1');
    expect(await robot.logs('talker', 1)).not.toContain('out 1');
    expect((await robot.cloud.call('GET', `/robots/${ROBOT}/compose-file/services/nobody/logs`)).status).toBe(404);
  });
});
