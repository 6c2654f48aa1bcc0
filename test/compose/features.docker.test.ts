import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDocker } from '../support/docker/docker.js';
import { type Content, DockerRobot, runs } from '../support/docker/docker-robot.js';

describeDocker('what compose can do', () => {
  let robot: DockerRobot;
  let image: string;

  beforeAll(async () => {
    robot = await DockerRobot.start();
    image = await robot.images.make('runs');
  });

  afterAll(async () => {
    await robot?.stop();
  });

  const inside = (service: string, ...command: string[]) =>
    robot.docker.run('exec', `${robot.project}-${service}-1`, ...command);
  const inspected = async (service: string) => {
    const found = (await robot.containers()).find((container) => container.service === service);
    if (!found) throw new Error(`there is no container of ${service}`);
    return found.inspected;
  };

  it('keeps an order: one that waits for another to be healthy, and for a one-shot to have ended', async () => {
    await robot.deploy({
      services: {
        migrate: { image, command: ['sh', '-c', 'echo done > /data/migrated'], volumes: ['shared:/data'] },
        base: runs(image, {
          command: ['sh', '-c', 'sleep 2; touch /tmp/ready; exec sleep 10000'],
          init: true,
          healthcheck: { test: ['CMD', 'ls', '/tmp/ready'], interval: '1s', retries: 30 },
        }),
        nav: runs(image, {
          command: ['sh', '-c', 'cat /data/migrated && exec sleep 10000'],
          init: true,
          volumes: ['shared:/data'],
          depends_on: {
            base: { condition: 'service_healthy' },
            migrate: { condition: 'service_completed_successfully' },
          },
        }),
      },
      volumes: { shared: {} },
    });
    const [base, nav, migrate] = await Promise.all([inspected('base'), inspected('nav'), inspected('migrate')]);
    // By the engine's clock.
    const waited = Date.parse(nav.State.StartedAt) - Date.parse(base.State.StartedAt);
    expect(waited).toBeGreaterThanOrEqual(2000);
    expect(migrate.State).toMatchObject({ Status: 'exited', ExitCode: 0 });
    const services = await robot.services((all) => all.length === 3);
    expect(services.find(({ service }) => service === 'migrate')).toMatchObject({ state: 'exited', exit_code: 0 });
  });

  it('sets environment, configs, init, restart and healthcheck as the document says', async () => {
    await robot.deploy({
      services: {
        nav: runs(image, {
          environment: { SPEED: '0.5', PRICE: '$$5' },
          configs: [{ source: 'params', target: '/etc/params.yaml', mode: 0o440 }],
          init: true,
          restart: 'unless-stopped',
          hostname: 'navigator',
          healthcheck: { test: ['CMD', 'true'], interval: '1s', timeout: '2s', retries: 4 },
        }),
      },
      configs: { params: { content: 'max_speed: 0.5\n' } },
    });
    expect(await inside('nav', 'env')).toContain('SPEED=0.5');
    expect(await inside('nav', 'env')).toContain('PRICE=$5');
    expect(await inside('nav', 'cat', '/etc/params.yaml')).toBe('max_speed: 0.5');
    expect(await inside('nav', 'cat', '/etc/hostname')).toBe('navigator');
    const { HostConfig, Config, State } = await inspected('nav');
    expect(HostConfig).toMatchObject({ Init: true, RestartPolicy: { Name: 'unless-stopped' } });
    expect(Config).toMatchObject({ Healthcheck: { Test: ['CMD', 'true'], Retries: 4 } });
    expect(State.Health?.Status).toBe('healthy');
  });

  it('gives secrets that are files of the robot, to be read only', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'drover-secrets-'));
    try {
      await writeFile(join(folder, 'password'), 'open sesame');
      await robot.deploy({
        services: { nav: runs(image, { secrets: ['password', { source: 'password', target: '/etc/pass' }] }) },
        secrets: { password: { file: join(folder, 'password') } },
      });
      expect(await inside('nav', 'cat', '/run/secrets/password')).toBe('open sesame');
      expect(await inside('nav', 'cat', '/etc/pass')).toBe('open sesame');
      const write = ['sh', '-c', 'echo changed > /etc/pass'];
      expect((await robot.docker.try('exec', `${robot.project}-nav-1`, ...write)).code).not.toBe(0);
    } finally {
      await robot.remove();
      await robot.settled();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('keeps named volumes across versions', async () => {
    const content = (command: string): Content => ({
      services: {
        nav: runs(image, {
          command: ['sh', '-c', `${command}; exec sleep 10000`],
          init: true,
          volumes: ['maps:/data'],
        }),
      },
      volumes: { maps: {} },
    });
    await robot.deploy(content('echo hall > /data/map'));
    await robot.deploy(content('cat /data/map'));
    expect(await inside('nav', 'cat', '/data/map')).toBe('hall');
  });

  it('connects services by the networks that they share, under their names and aliases', async () => {
    await robot.deploy({
      services: {
        map: runs(image, {
          command: ['sh', '-c', 'echo hello > /tmp/index.html && exec httpd -f -p 80 -h /tmp'],
          init: true,
          networks: { inner: { aliases: ['atlas'] } },
        }),
        nav: runs(image, { networks: ['inner'] }),
        stranger: runs(image, { networks: ['other'] }),
      },
      networks: { inner: { internal: true }, other: {} },
    });
    await expect
      .poll(() => robot.docker.try('exec', `${robot.project}-nav-1`, 'wget', '-q', '-O', '-', 'http://atlas/'))
      .toMatchObject({ code: 0, stdout: 'hello' });
    expect(
      (await robot.docker.try('exec', `${robot.project}-stranger-1`, 'wget', '-T', '2', '-O', '-', 'http://atlas/'))
        .code,
    ).not.toBe(0);
  });

  it('leaves services of a profile out', async () => {
    await robot.deploy({ services: { nav: runs(image), debug: runs(image, { profiles: ['debug'] }) } });
    expect(await robot.running()).toEqual([`nav ${image} running`]);
  });

  it('runs several of a service, and gives up those that a later version does not ask for', async () => {
    const id = await robot.deploy({ services: { nav: runs(image, { deploy: { replicas: 3 } }) } });
    expect(await robot.running()).toHaveLength(3);
    await robot.store({ services: { nav: runs(image, { deploy: { replicas: 1 } }) } }, id);
    await robot.assign(id);
    expect((await robot.settled()).state).toBe('up');
    expect(await robot.running()).toEqual([`nav ${image} running`]);
  });

  it('extends a service by another of the same document', async () => {
    await robot.deploy({
      services: {
        common: runs(image, { environment: { FLEET: 'blue' } }),
        nav: { extends: { service: 'common' }, environment: { ROLE: 'nav' } },
      },
    });
    const environment = await inside('nav', 'env');
    expect(environment).toContain('FLEET=blue');
    expect(environment).toContain('ROLE=nav');
  });

  it.each<[string, string, Content]>([
    [
      'extends a file',
      'services.nav.extends',
      { services: { nav: { extends: { file: 'common.yaml', service: 'nav' } } } },
    ],
    ['includes a file', 'include', { include: ['other.yaml'], services: { nav: { image: 'x' } } }],
    ['reads an env_file', 'services.nav.env_file', { services: { nav: { image: 'x', env_file: 'nav.env' } } }],
    ['builds', 'services.nav.build', { services: { nav: { build: '.' } } }],
    [
      'has a config of a file',
      'configs.c.file',
      { services: { nav: { image: 'x' } }, configs: { c: { file: 'c.yaml' } } },
    ],
    [
      'has a secret of a file',
      'secrets.s.file',
      { services: { nav: { image: 'x' } }, secrets: { s: { file: 's.txt' } } },
    ],
    [
      'mounts a folder beside it',
      'services.nav.volumes',
      { services: { nav: { image: 'x', volumes: ['./maps:/maps'] } } },
    ],
  ])('says clearly that it can not work from JSON where a document %s', async (_what, path, content) => {
    const answer = await robot.cloud.call('POST', '/compose-files', { id: 'can-not-work', content });
    if (answer.status === 400) {
      expect(JSON.stringify(answer.body)).toContain(path);
      return;
    }
    expect(answer.status).toBe(201);
    await robot.assign('can-not-work');
    expect(await robot.settled()).toMatchObject({ state: 'error', error_code: 'invalid_compose_file' });
    expect((await robot.detail()).error_message).toContain(path);
    await robot.remove();
    await robot.settled();
    expect((await robot.cloud.call('DELETE', '/compose-files/can-not-work')).status).toBe(204);
  });
});
