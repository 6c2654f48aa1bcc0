import { once } from 'node:events';
import { createServer } from 'node:net';
import { type ComposePlan, composePlan } from '@drover/shared/api/compose-plan';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { BoastingRegistry } from '../support/docker/boasting-registry.js';
import { describeRegistry } from '../support/docker/docker.js';
import { type Content, DockerRobot, ROBOT, runs } from '../support/docker/docker-robot.js';
import { TestImages } from '../support/docker/images.js';
import { TestRegistry } from '../support/docker/registry.js';

describeRegistry('a plan', () => {
  let registry: TestRegistry;
  let robot: DockerRobot;
  let pullable: TestImages;
  let image: string;
  let healthy: string;

  beforeAll(async () => {
    [registry, robot] = await Promise.all([TestRegistry.start(), DockerRobot.start()]);
    pullable = new TestImages(robot.docker, registry.address);
    image = await robot.images.make('runs');
    healthy = await robot.images.make('healthy');
  });

  afterAll(async () => {
    await robot?.stop();
    await pullable?.remove();
    await registry?.stop();
  });

  /** All that the engine has of the robot's project, and every image of this file. */
  async function atTheEngine(): Promise<unknown> {
    const label = `label=com.docker.compose.project=${robot.project}`;
    // The engine lists in no order.
    const list = async (...args: string[]) => (await robot.docker.lines(...args)).sort();
    const repositories = [robot.images.repository, pullable.repository];
    return {
      containers: (await robot.containers()).map(({ id, name, image, state, inspected }) => ({
        ...{ id, name, image, state, startedAt: inspected.State.StartedAt },
      })),
      volumes: await list('volume', 'ls', '-q', '--filter', label),
      networks: await list('network', 'ls', '-q', '--filter', label),
      images: await Promise.all(repositories.map((one) => list('images', '--no-trunc', '-q', one))),
    };
  }

  /** What the robot answers; that nothing at the engine is another for it, is seen each time. */
  async function plan(body: { id: string; version?: number } | { content: Content }): Promise<ComposePlan> {
    const before = await atTheEngine();
    const answer = await robot.plan(body);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
    expect(await atTheEngine()).toEqual(before);
    return composePlan.parse(answer.body);
  }

  const web = (more: Content = {}, top: Content = {}) => ({ services: { web: runs(image, more) }, ...top });

  it('of a robot that runs nothing tells what would be made', async () => {
    const volumes = { volumes: { data: {} } };
    expect(await plan({ content: web({ volumes: ['data:/data'] }, volumes) })).toMatchObject({
      ok: true,
      running: null,
      services: [{ service: 'web', action: 'create', reason: null }],
      images: [{ image, present: true, pull: false, download_bytes: null, message: null }],
      disk: { free_bytes: expect.any(Number), needed_bytes: 0, fits: true },
      ports: [],
      refusals: [],
      error: null,
    });
  });

  it('compares with what runs, be the document stored or not', async () => {
    const content = {
      services: { web: runs(image), kept: runs(image, { labels: { price: '5$$' } }), gone: runs(image) },
    };
    const id = await robot.deploy(content);
    const kept = ['gone', 'kept', 'web'].map((service) => ({ service, action: 'keep', reason: null }));
    const running = { id, version: 1 };
    expect(await plan({ id })).toMatchObject({ ok: true, running, services: kept });
    expect(await plan({ content })).toMatchObject({ ok: true, running, services: kept });

    const { kept: same } = content.services;
    const next = { services: { web: runs(healthy), kept: same, more: runs(image) } };
    const changes = [
      { service: 'gone', action: 'remove', reason: expect.any(String) },
      { service: 'kept', action: 'keep', reason: null },
      { service: 'more', action: 'create', reason: null },
      { service: 'web', action: 'recreate', reason: 'image changed' },
    ];
    expect(await plan({ content: next })).toMatchObject({ ok: true, running, services: changes });
    await robot.store(next, id);
    expect(await plan({ id })).toMatchObject({ running, services: changes });
    expect(await plan({ id, version: 1 })).toMatchObject({ running, services: kept });

    // And so it comes, with the containers that were to be kept.
    const before = await robot.containers();
    await robot.assign(id);
    expect((await robot.settled()).state).toBe('up');
    const idOf = (containers: typeof before, service: string) =>
      containers.find((container) => container.service === service)?.id;
    const after = await robot.containers();
    expect(after.map(({ service }) => service)).toEqual(['kept', 'more', 'web']);
    expect(idOf(after, 'kept')).toBe(idOf(before, 'kept'));
    expect(idOf(after, 'web')).not.toBe(idOf(before, 'web'));
  });

  it('tells the size of what would be pulled, where the registry does, and whether the disk holds it', async () => {
    const pulled = await pullable.make('runs', 'planned', 2);
    await robot.docker.run('push', pulled);
    await pullable.forget(pulled);
    const services = { web: runs(pulled), same: runs(pulled), here: runs(image) };
    const answer = await plan({ content: { services } });
    const { download_bytes: bytes } = answer.images.find((one) => one.image === pulled) ?? {};
    expect(answer).toMatchObject({
      ok: true,
      images: [
        { image: pulled, present: false, pull: true, message: null },
        { image, present: true, pull: false, download_bytes: null },
      ].sort((a, b) => (a.image < b.image ? -1 : 1)),
      disk: { needed_bytes: bytes, fits: true },
    });
    // What does not compress, and a little of busybox and of the manifest.
    expect(bytes).toBeGreaterThan(2 * 1024 * 1024);
    expect(bytes).toBeLessThan(5 * 1024 * 1024);

    const unknown = `${registry.address}/drover-test-none/box:1`;
    const none = await plan({ content: { services: { web: runs(unknown) } } });
    expect(none).toMatchObject({
      images: [{ image: unknown, pull: true, download_bytes: null }],
      disk: { needed_bytes: null, fits: null },
    });
    expect(none.images[0]?.message).toMatch(/did not tell the size: .*(no such manifest|manifest unknown)/);
  });

  it('says no to an image that the disk does not hold', async () => {
    const boasting = await BoastingRegistry.start();
    onTestFinished(() => boasting.stop());
    expect(await plan({ content: web({ image: boasting.image }) })).toMatchObject({
      ok: false,
      images: [{ pull: true, download_bytes: boasting.size }],
      disk: { needed_bytes: boasting.size, fits: false },
      error: { code: 'image_pull_failed', message: expect.stringContaining('disk') },
    });
    expect(boasting.refused).toEqual([]);
  });

  it('tells of ports that another program or container has, not of its own', async () => {
    const server = createServer().listen(0, '0.0.0.0');
    await once(server, 'listening');
    onTestFinished(async () => void (await new Promise((resolve) => server.close(resolve))));
    const address = server.address();
    const theirs = typeof address === 'object' && address !== null ? address.port : 0;
    const other = `${robot.project}-other`;
    await robot.docker.run('run', '-d', '--name', other, '-p', '127.0.0.1::80', image);
    onTestFinished(async () => void (await robot.docker.try('rm', '-f', other)));
    const others = Number((await robot.docker.run('port', other, '80/tcp')).split(':').at(-1));

    const answer = await plan({ content: web({ ports: [`${theirs}:1`, `127.0.0.1:${others}:2`, '3'] }) });
    expect(answer).toMatchObject({ ok: false, error: { code: 'start_failed' } });
    expect(answer.ports).toEqual([
      { service: 'web', host_ip: '0.0.0.0', port: theirs, protocol: 'tcp', free: false, taken_by: null },
      { service: 'web', host_ip: '127.0.0.1', port: others, protocol: 'tcp', free: false, taken_by: other },
    ]);

    await robot.docker.run('rm', '-f', other);
    const own = web({ ports: [`127.0.0.1:${others}:2`] });
    expect(await plan({ content: own })).toMatchObject({ ok: true, ports: [{ free: true, taken_by: null }] });
    const id = await robot.deploy(own);
    expect(await plan({ id })).toMatchObject({ ok: true, ports: [{ port: others, free: true, taken_by: null }] });
  });

  it('names each rule that refuses the document, with the place, beside what would change', async () => {
    const content = web({ privileged: true, pid: 'host', volumes: ['/etc/ssh:/host:ro'], environment: { A: '1' } });
    const answer = await plan({ content });
    expect(answer).toMatchObject({ ok: false, services: [{ service: 'web', action: 'recreate' }], error: null });
    expect(answer.refusals.map(({ rule, path }) => [rule, path])).toEqual([
      ['policy.compose.privileged', 'services.web.privileged'],
      ['policy.compose.host_namespaces', 'services.web.pid'],
      ['policy.compose.mounts', 'services.web.volumes[0]'],
    ]);
  });

  it('says what a robot can not do with a document that the cloud takes', async () => {
    expect(await plan({ content: web({ env_file: ['.env'] }) })).toMatchObject({
      ok: false,
      services: [],
      refusals: [],
      error: { code: 'invalid_compose_file', message: expect.stringContaining('services.web.env_file') },
    });
    const invalid = await robot.plan({ content: { services: { web: { image: 7 } } } });
    expect(invalid).toMatchObject({ status: 400, body: { error_code: 'invalid_request' } });
  });

  it('is a 404 of a robot, a file or a version that is not there, and a 503 of a robot that is not here', async () => {
    const id = await robot.store(web());
    const nobody = await robot.cloud.call('POST', '/robots/nobody/compose-file/plan', { id });
    expect(nobody).toMatchObject({ status: 404, body: { error_code: 'robot_not_found' } });
    const notFound = { status: 404, body: { error_code: 'compose_file_not_found' } };
    expect(await robot.plan({ id: 'nothing' })).toMatchObject(notFound);
    expect(await robot.plan({ id, version: 9 })).toMatchObject(notFound);

    expect(await robot.agent.process.stop()).toBe(0);
    await robot.cloud.online(ROBOT, false);
    const offline = { status: 503, body: { error_code: 'unavailable', message: expect.stringContaining('offline') } };
    expect(await robot.plan({ id })).toMatchObject(offline);
    expect(await robot.plan({ content: web() })).toMatchObject(offline);
    await robot.agent.restart();
    await robot.cloud.online(ROBOT);
    expect(await plan({ id })).toMatchObject({ ok: true });
  });
});

describeRegistry('a plan of a robot without a Docker Engine', () => {
  it('says so, and what to do', async () => {
    const robot = await DockerRobot.start({ env: { DOCKER_HOST: 'unix:///nowhere/docker.sock' } });
    onTestFinished(() => robot.stop());
    const answer = await robot.plan({ content: { services: { web: runs('box:1') } } });
    expect(answer).toMatchObject({
      status: 200,
      body: { ok: false, running: null, services: [], images: [], error: { code: 'docker_unavailable' } },
    });
    expect(composePlan.parse(answer.body).error?.message).toMatch(/unix:\/\/\/nowhere\/docker\.sock.*systemctl/);
  });
});
