import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Outcome } from './support/cloud.js';
import { DockerCli } from './support/docker/docker.js';
import { TestImages } from './support/docker/images.js';
import { describeImages, IMAGES } from './support/docker/project-images.js';
import { readmeCommands, typed } from './support/readme.js';

const folder = fileURLToPath(new URL('../docker/', import.meta.url));
/** Between two looks at an answer. */
const LOOK_MS = 100;

interface Point {
  payload: { pose: { pose: { position: { x: number } } }; twist: { twist: { linear: { x: number } } } };
}

/** The fleet of docker/compose.yaml, of images that were built before, with the engine in its robots' reach. */
describeImages('the fleet of docker/compose.yaml', () => {
  const docker = new DockerCli();
  const images = new TestImages(docker);
  const project = `drover-test-fleet-${randomBytes(3).toString('hex')}`;
  /** What rover-1's agent calls its project on the engine. */
  const deployed = `${project}-rover-1`;
  const socket = (process.env.DOCKER_HOST ?? '').replace(/^unix:\/\//, '') || '/var/run/docker.sock';
  let url = '';
  let key = '';

  /** As one types it, but for what makes this fleet another than the machine's own. */
  const compose = async (...args: string[]) => {
    const files = ['compose.yaml', 'compose.engine.yaml'].flatMap((file) => ['--file', `${folder}${file}`]);
    return docker.run('compose', '--project-name', project, ...files, ...args);
  };
  const containers = async () => {
    const all = await docker.containers(project);
    return Object.fromEntries(all.map((container) => [container.service, container]));
  };

  async function call<T>(method: string, path: string, body?: unknown): Promise<{ status: number; body: T }> {
    const response = await fetch(url + path, {
      method,
      headers: { 'svc-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
  }

  async function until<T>(path: string, satisfied: (body: T) => boolean): Promise<T> {
    const deadline = Date.now() + 80_000;
    for (;;) {
      const { body } = await call<T>('GET', path);
      if (satisfied(body)) return body;
      if (Date.now() > deadline) throw new Error(`${path} never came to satisfy: ${JSON.stringify(body)}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async function run(robot: string, command: object): Promise<Outcome> {
    const { body } = await call<{ uuid: string }>('POST', `/robots/${robot}/commands`, command);
    return until<Outcome>(`/commands/${body.uuid}/outcome`, ({ state }) => state === 'executed' || state === 'error');
  }

  const points = (robot: string, satisfied: (points: Point[]) => boolean) =>
    until<Point[]>(`/robots/${robot}/data?source=/odom&limit=1000`, satisfied);

  beforeAll(async () => {
    Object.assign(process.env, {
      DROVER_CLOUD_IMAGE: IMAGES.cloud,
      DROVER_AGENT_IMAGE: IMAGES.agent,
      // Any that is free.
      DROVER_PORT: '0',
      DOCKER_SOCKET: socket,
      DOCKER_GID: String(statSync(socket).gid),
    });
    await compose('up', '--detach', '--no-build');
    url = `http://${await compose('port', 'cloud', '8080')}`;
    key = await compose('exec', '--no-TTY', 'cloud', 'cat', 'fleet-key');
  }, 300_000);

  afterAll(async () => {
    await compose('down', '--volumes', '--timeout', '20');
    await docker.removeProject(deployed);
    await images.remove();
  }, 120_000);

  it('comes up with both robots online, and everything healthy and without root', async () => {
    for (const robot of ['rover-1', 'rover-2']) {
      await until<{ online: boolean }>(`/robots/${robot}`, ({ online }) => online);
    }
    await expect
      .poll(async () => Object.values(await containers()).map(({ service, health }) => `${service} ${health}`), {
        timeout: 60_000,
      })
      .toEqual(expect.arrayContaining(['cloud healthy', 'rover-1 healthy', 'rover-2 healthy']));
    for (const service of ['cloud', 'rover-1']) {
      expect(await compose('exec', '--no-TTY', service, 'id', '-u')).toBe('10001');
    }
  });

  it('moves the robot that is told to by a command, which its stream shows, and no other', async () => {
    for (const robot of ['rover-1', 'rover-2']) {
      const stream = { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 5 };
      expect(await call('POST', `/robots/${robot}/streams`, stream)).toMatchObject({ status: 201 });
    }
    const twist = { interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist' };
    expect(await run('rover-1', { ...twist, payload: { linear: { x: 0.5 } } })).toMatchObject({
      state: 'executed',
      result: { matched_subscribers: 1 },
    });
    const [moved] = await points('rover-1', ([newest]) => (newest?.payload.pose.pose.position.x ?? 0) > 0.5);
    expect(moved?.payload.twist.twist.linear.x).toBe(0.5);
    const still = await points('rover-2', (found) => found.length >= 10);
    expect(still.every(({ payload }) => payload.pose.pose.position.x === 0)).toBe(true);
  });

  it('serves services and actions, and logs to /rosout', async () => {
    const enable = { interface: 'service', name: '/enable_motors', type: 'std_srvs/srv/SetBool' };
    expect(await run('rover-2', { ...enable, payload: { data: true } })).toMatchObject({
      state: 'executed',
      result: { success: true, message: 'motors enabled' },
    });
    const { actions } = (await call<{ actions: { name: string; types: string[] }[] }>('GET', '/robots/rover-2/graph'))
      .body;
    const type = actions.find(({ name }) => name === '/fibonacci')?.types[0];
    const goal = { interface: 'action_send_goal', name: '/fibonacci', type, payload: { order: 4 } };
    expect(await run('rover-2', goal)).toMatchObject({ state: 'executed', result: { sequence: [0, 1, 1, 2, 3] } });
    await until<{ name: string; msg: string }[]>('/robots/rover-2/logs?source=/rosout', (records) =>
      records.some(({ name, msg }) => name === 'simulated_robot' && msg === 'motors enabled'),
    );
  });

  it('deploys a compose file to a robot on the machine’s own engine, from inside its container', async () => {
    const content = { services: { lamp: { image: await images.make('healthy') } } };
    expect(await call('POST', '/compose-files', { id: 'lamp', content })).toMatchObject({ status: 201 });
    await call('POST', '/robots/rover-1/compose-file', { id: 'lamp' });
    await until<{ state: string }>('/robots/rover-1/compose-file', ({ state }) => state !== 'pending_up');
    expect(await call('GET', '/robots/rover-1/compose-file')).toMatchObject({ body: { state: 'up' } });
    const [lamp] = await docker.containers(deployed);
    expect(lamp).toMatchObject({ service: 'lamp', running: true, health: 'healthy' });
    await call('DELETE', '/robots/rover-1/compose-file');
    await until<{ state: string }>('/robots/rover-1/compose-file', ({ state }) => state === 'down');
    expect(await docker.containers(deployed)).toEqual([]);
  });

  it('answers the README’s lines as they stand there', async () => {
    await call('DELETE', '/robots/rover-1/streams/%2Fodom');
    const image = await images.make('healthy', 'patrol');
    const { alias, commands } = readmeCommands('**Use it**:');
    const uuids: string[] = [];
    for (const command of commands) {
      // The points of a stream that was created a line before.
      if (command.includes('data?source=/odom')) await points('rover-1', (found) => found.length > 0);
      const line = command
        .replace('UUID', uuids.at(-1) ?? '')
        // What the stand-ins of base images have: ROS without this package, and no registry.
        .replace('example_interfaces/', 'test_msgs/')
        .replace('registry.example.com/patrol:1.4', image);
      const printed = await typed(alias, line, { DROVER_API: url, KEY: key });
      const answer: unknown = JSON.parse(printed);
      const { error_code = null, ok = true } = answer as { error_code?: string | null; ok?: boolean };
      expect({ error_code, ok }, `${command}: ${printed}`).toEqual({ error_code: null, ok: true });
      if (Array.isArray(answer)) expect(answer.length, command).toBeGreaterThan(0);
      const { uuid } = answer as { uuid?: string };
      if (uuid !== undefined && !uuids.includes(uuid)) uuids.push(uuid);
    }
    expect(uuids).toHaveLength(3);
    for (const uuid of uuids) {
      const outcome = await until<Outcome>(`/commands/${uuid}/outcome`, ({ finished_at }) => finished_at !== null);
      expect(outcome).toMatchObject({ state: 'executed' });
    }
    await until<{ state: string }>('/robots/rover-1/compose-file', ({ state }) => state === 'up');
    const [patrol] = await docker.containers(deployed);
    expect(patrol).toMatchObject({ service: 'patrol', image, running: true });
  });

  it('is the same fleet when it is started again: same key, same robots, same tokens', async () => {
    const before = await call<{ id: string; token_hint: string }[]>('GET', '/robots');
    // With Docker's own patience.
    await compose('stop', '--timeout', '10');
    const stopped = await containers();
    // Each ended by itself, having been asked to: none had to be killed.
    for (const service of ['cloud', 'rover-1', 'rover-2']) expect(stopped[service]?.exitCode).toBe(0);
    await compose('up', '--detach', '--no-build');
    url = `http://${await compose('port', 'cloud', '8080')}`;
    expect(await compose('logs', '--no-log-prefix', 'setup')).toContain(`KEY=${key}`);
    const after = await until<typeof before.body>('/robots', (robots) =>
      robots.every((robot) => (robot as unknown as { online: boolean }).online),
    );
    expect(after.map(({ id, token_hint }) => [id, token_hint])).toEqual(
      before.body.map(({ id, token_hint }) => [id, token_hint]),
    );
  });
});
