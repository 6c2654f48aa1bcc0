import { expect, it } from 'vitest';
import { NO_SUCH_IMAGE, runs, TestCompose } from './compose.fixture.js';
import { BOX, describeDocker, docker } from './docker/box.fixture.js';

describeDocker('a compose file', () => {
  it('is up when its services run, and down when it is taken away', async () => {
    const robot = new TestCompose();
    const up = await robot.settled(robot.assign({ web: runs() }));
    expect(up).toMatchObject({ state: 'up', running: { id: 'app', version: 1 }, failed: null, error_code: null });
    expect(up.services).toMatchObject([{ service: 'web', state: 'running', health: null, restarts: 0 }]);
    expect(up.services[0]?.since_robot_ms).toBeGreaterThan(0);
    expect(up.images).toEqual([{ image: BOX, state: 'present', percent: 100, message: null }]);
    const down = await robot.settled(robot.remove());
    expect(down).toMatchObject({ state: 'down', running: null, services: [] });
    expect(robot.containers()).toEqual([]);
  });

  it('gives way to its next version: what is no service any more goes, what has not changed stays', async () => {
    const robot = new TestCompose();
    const first = await robot.settled(robot.assign({ keeps: runs(), goes: runs(), changes: runs() }));
    const kept = robot.id('keeps');
    const next = { keeps: runs(), changes: runs({ environment: { A: '1' } }), comes: runs() };
    const second = await robot.settled(robot.assign(next, { version: 2 }));
    expect(first.services.map(({ service }) => service)).toEqual(['changes', 'goes', 'keeps']);
    expect(second).toMatchObject({ state: 'up', running: { version: 2 } });
    expect(second.services.map(({ service }) => service)).toEqual(['changes', 'comes', 'keeps']);
    expect(robot.id('keeps')).toBe(kept);
  });

  it('whose service ends with an error gives way to the last good one, and what the service wrote is told', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs({ environment: { GOOD: '1' } }) }));
    const bad = { web: runs({ command: ['sh', '-c', 'echo no such motor; exit 3'] }), more: runs() };
    const failed = await robot.settled(robot.assign(bad, { version: 2 }));
    expect(failed).toMatchObject({
      state: 'error',
      error_code: 'start_failed',
      running: { version: 1 },
      failed: { id: 'app', version: 2, error_code: 'start_failed' },
    });
    expect(failed.error_message).toContain('ended with 3');
    expect(failed.engine_words).toContain('no such motor');
    expect(failed.services).toMatchObject([{ service: 'web', state: 'running' }]);
    expect(robot.inspect('web', '{{.Config.Env}}')).toContain('GOOD=1');
    expect(robot.told).toContain('pending_up rolling_back');
  });

  it('that never becomes healthy gives way to the last good one when its time is over', async () => {
    const robot = new TestCompose({ healthTimeoutS: 3 });
    await robot.settled(robot.assign({ web: runs() }));
    const healthcheck = { test: ['CMD', 'sh', '-c', 'echo no scan; exit 1'], interval: '1s', retries: 1 };
    const failed = await robot.settled(robot.assign({ web: runs({ healthcheck }) }, { version: 2 }));
    expect(failed).toMatchObject({ state: 'error', error_code: 'unhealthy', running: { version: 1 } });
    expect(failed.engine_words).toContain('no scan');
    expect(failed.failed).toMatchObject({ version: 2, error_code: 'unhealthy' });
    expect(failed.services).toMatchObject([{ service: 'web', state: 'running', health: null }]);
  });

  it('that fails with none before it leaves nothing', async () => {
    const robot = new TestCompose();
    const failed = await robot.settled(robot.assign({ web: runs(), bad: runs({ command: ['false'] }) }));
    expect(failed).toMatchObject({ state: 'error', error_code: 'start_failed', running: null, services: [] });
    expect(robot.containers()).toEqual([]);
    expect(docker('network', 'ls', '-q', '--filter', `name=${robot.project}`)).toBe('');
  });

  it('waits for a service that others need healthy, and says so when it does not become it', async () => {
    const robot = new TestCompose({ healthTimeoutS: 3 });
    const healthcheck = { test: ['CMD', 'false'], interval: '1s', retries: 100 };
    const services = { db: runs({ healthcheck }), web: runs({ depends_on: { db: { condition: 'service_healthy' } } }) };
    const failed = await robot.settled(robot.assign(services));
    expect(failed).toMatchObject({ state: 'error', error_code: 'unhealthy', services: [] });
    expect(failed.error_message).toContain('-db-1');
  });

  it('whose image can not be pulled changes nothing', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs() }));
    const before = robot.id('web');
    const failed = await robot.settled(robot.assign({ web: runs({ image: NO_SUCH_IMAGE }) }, { version: 2 }));
    expect(failed).toMatchObject({ state: 'error', error_code: 'image_pull_failed', running: { version: 1 } });
    expect(failed.images).toMatchObject([{ image: NO_SUCH_IMAGE, state: 'failed' }]);
    expect(failed.engine_words).toContain('refused');
    expect(robot.id('web')).toBe(before);
  });

  it('that compose does not take is refused with its words', async () => {
    const robot = new TestCompose();
    const failed = await robot.settled(robot.assign({ web: runs({ networks: ['nowhere'] }) }));
    expect(failed).toMatchObject({ state: 'error', error_code: 'invalid_compose_file' });
    expect(failed.error_message).toContain('nowhere');
  });

  it('with services that do their work and end is up when they have, and again when another is gone', async () => {
    const robot = new TestCompose();
    const job = runs({ command: ['echo', 'done'] });
    const web = runs({ depends_on: { job: { condition: 'service_completed_successfully' } } });
    const up = await robot.settled(robot.assign({ job, web }));
    expect(up.services).toMatchObject([
      { service: 'job', state: 'exited', exit_code: 0 },
      { service: 'web', state: 'running', exit_code: null },
    ]);
    docker('rm', '--force', robot.id('web'));
    await robot.restart();
    await robot.until(({ state, services }) => state === 'up' && services.some((s) => s.state === 'running'));
  });

  it('that is assigned while another is being brought up takes its place', async () => {
    const robot = new TestCompose();
    robot.assign({ first: runs(), slow: runs({ depends_on: ['first'] }) });
    await robot.until(({ phase }) => phase === 'starting');
    robot.assign({ second: runs() }, { version: 2 });
    const up = await robot.settled(robot.assign({ third: runs() }, { version: 3 }));
    expect(up).toMatchObject({ state: 'up', running: { version: 3 } });
    expect(robot.containers()).toEqual([`${robot.project}-third-1`]);
  });

  it('that is refused after another was broken off half-way leaves the last good one, whole', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs({ environment: { GOOD: '1' } }) }));
    robot.assign({ web: runs(), more: runs() }, { version: 2 });
    await robot.until(({ phase, services }) => phase === 'watching' && services.length === 2);
    const failed = await robot.settled(robot.assign({ web: runs({ image: NO_SUCH_IMAGE }) }, { version: 3 }));
    expect(failed).toMatchObject({ state: 'error', error_code: 'image_pull_failed', running: { version: 1 } });
    expect(robot.containers()).toEqual([`${robot.project}-web-1`]);
    expect(robot.inspect('web', '{{.Config.Env}}')).toContain('GOOD=1');
  });

  it('keeps its volumes when it is taken away, unless asked not to', async () => {
    const robot = new TestCompose();
    const top = { volumes: { data: {} } };
    const services = { web: runs({ volumes: ['data:/data', '/scratch'] }) };
    await robot.settled(robot.assign(services, { top }));
    await robot.settled(robot.remove());
    expect(robot.volumes()).toContain(`${robot.project}_data`);
    await robot.settled(robot.assign(services, { top }));
    await robot.settled(robot.remove({ volumes: true }));
    expect(robot.volumes()).toEqual([]);
  });

  it('gives up volumes that were kept when they are asked for later', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs({ volumes: ['data:/data'] }) }, { top: { volumes: { data: {} } } }));
    await robot.settled(robot.remove());
    await robot.restart();
    await robot.settled(robot.remove({ volumes: true }));
    expect(robot.volumes()).toEqual([]);
  });

  it('keeps its hands off a project of the same name that is not its own', async () => {
    const robot = new TestCompose();
    const label = `com.docker.compose.project=${robot.project}`;
    const foreign = docker('run', '-d', '--label', label, BOX, 'sleep', '1000000');
    try {
      const failed = await robot.settled(robot.assign({ web: runs() }));
      expect(failed).toMatchObject({ state: 'error', error_code: 'start_failed' });
      expect(failed.error_message).toContain('DROVER_COMPOSE_PROJECT');
      await robot.settled(robot.remove({ volumes: true }));
      expect(docker('inspect', '-f', '{{.State.Status}}', foreign)).toBe('running');
    } finally {
      docker('rm', '-f', foreign);
    }
  });

  it("does not have another's container removed by what its command says", async () => {
    const robot = new TestCompose();
    const victim = docker('run', '-d', BOX, 'sleep', '1000000');
    try {
      const bad = { web: runs({ init: false, command: [`task ${victim}: already exists`] }) };
      const failed = await robot.settled(robot.assign(bad));
      expect(failed).toMatchObject({ state: 'error', error_code: 'start_failed' });
      expect(failed.engine_words).toContain(`task ${victim}: already exists`);
      expect(docker('inspect', '-f', '{{.State.Status}}', victim)).toBe('running');
    } finally {
      docker('rm', '-f', victim);
    }
  });

  it('runs again what somebody has removed, when the agent starts', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ one: runs(), two: runs() }));
    docker('rm', '-f', robot.id('one'));
    await robot.until(({ services }) => services.length === 1);
    await robot.restart();
    const up = await robot.until(({ state, services }) => state === 'up' && services.length === 2);
    expect(up.services.map(({ state }) => state)).toEqual(['running', 'running']);
  });
});
