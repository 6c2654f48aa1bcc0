import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDocker } from '../support/docker/docker.js';
import { type Content, DockerRobot, runs } from '../support/docker/docker-robot.js';

const POLICY = `
policy:
  compose:
    images:
      deny:
        - name: no_old_images
          pattern: '*/box:runs-old'
    mounts:
      deny: [/srv/customer/**]
`;

describeDocker("what the robot's policy refuses of a document", () => {
  let robot: DockerRobot;
  let folder: string;
  let image: string;
  let good: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'drover-policy-'));
    await writeFile(join(folder, 'agent.yaml'), POLICY);
    await symlink('/etc', join(folder, 'harmless'));
    robot = await DockerRobot.start({ env: { DROVER_CONFIG: join(folder, 'agent.yaml') } });
    image = await robot.images.make('runs');
    good = await robot.deploy({ services: { nav: runs(image) } });
  });

  afterAll(async () => {
    await robot?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const nav = (more: Content): Content => ({ services: { nav: runs(image, more) } });
  const socket = () => (robot.docker.host ?? process.env.DOCKER_HOST ?? '/var/run/docker.sock').replace('unix://', '');

  it.each<[string, string, () => Content]>([
    ['privileged containers', 'policy.compose.privileged', () => nav({ privileged: true })],
    ['the docker socket', 'policy.compose.docker_socket', () => nav({ volumes: ['/var/run/docker.sock:/s'] })],
    ['the socket of the engine in use', 'policy.compose.docker_socket', () => nav({ volumes: [`${socket()}:/s`] })],
    ['all of its disk', 'policy.compose.mounts', () => nav({ volumes: ['/:/host:ro'] })],
    ['/etc', 'policy.compose.mounts', () => nav({ volumes: ['/etc:/host'] })],
    ['a link to /etc', 'policy.compose.mounts', () => nav({ volumes: [`${folder}/harmless:/host`] })],
    [
      'a volume that is /etc',
      'policy.compose.mounts',
      () => ({
        ...nav({ volumes: ['v:/host'] }),
        volumes: { v: { driver_opts: { type: 'none', o: 'bind', device: '/etc' } } },
      }),
    ],
    ['a mount of its own list', 'policy.compose.mounts', () => nav({ volumes: ['/srv/customer/data:/data'] })],
    ["the agent's data", 'agent_files', () => nav({ volumes: [`${robot.agent.dataDir}:/data`] })],
    ["the agent's settings", 'agent_files', () => nav({ volumes: [`${folder}/agent.yaml:/data`] })],
    ['what holds them', 'agent_files', () => nav({ volumes: ['/tmp:/data'] })],
    ['the processes of the robot', 'policy.compose.host_namespaces', () => nav({ pid: 'host' })],
    ['its host name', 'policy.compose.host_namespaces', () => nav({ uts: 'host' })],
    ['its users', 'policy.compose.host_namespaces', () => nav({ userns_mode: 'host' })],
    ['a disk', 'policy.compose.devices', () => nav({ devices: ['/dev/mem:/dev/mem'] })],
    ['what breaks out', 'policy.compose.capabilities', () => nav({ cap_add: ['SYS_ADMIN'] })],
    ['no bounds', 'policy.compose.security_opt', () => nav({ security_opt: ['seccomp=unconfined'] })],
    [
      'an image of its list',
      'no_old_images',
      () => ({ services: { nav: runs(`${robot.images.repository}:runs-old`) } }),
    ],
    [
      'a volume of somebody else',
      'policy.compose.external_volumes',
      () => ({ ...nav({ volumes: ['v:/v'] }), volumes: { v: { external: true, name: 'theirs' } } }),
    ],
    ['a container of somebody else', '', () => nav({ network_mode: 'container:theirs' })],
  ])('%s: by the name of the rule, before anything is touched', async (_what, rule, content) => {
    const before = await robot.containers();
    await robot.assign(good);
    await robot.settled();
    const planned = await robot.plan({ content: content() });
    expect(planned.status).toBe(200);
    expect(planned.body).toMatchObject({ ok: false, refusals: [{ rule: expect.stringContaining(rule) }] });
    const id = await robot.deploy(content(), 'error');
    const detail = await robot.detail();
    expect(detail).toMatchObject({
      error_code: 'not_allowed',
      error_message: expect.stringContaining(rule),
      running: { id: good },
      failed: { id, error_code: 'not_allowed' },
    });
    expect(detail.error_message).toMatch(/services\.nav|volumes\.v/);
    expect((await robot.containers()).map((container) => container.id)).toEqual(
      before.map((container) => container.id),
    );
    expect(await robot.docker.lines('volume', 'ls', '-q', '--filter', `name=${robot.project}`)).toEqual([]);
  });

  it('never what DDS needs: the network and ipc of the robot', async () => {
    await robot.deploy(nav({ network_mode: 'host', ipc: 'host' }));
  });

  it('a project of the same name that is not its own: it is left alone', async () => {
    await robot.remove();
    await robot.settled();
    const label = `com.docker.compose.project=${robot.project}`;
    const theirs = await robot.docker.run(
      'run',
      '-d',
      '--label',
      label,
      '--label',
      'com.docker.compose.service=nav',
      image,
    );
    const id = await robot.deploy(nav({}), 'error');
    expect(await robot.detail()).toMatchObject({ error_code: 'start_failed', failed: { id } });
    expect((await robot.containers()).map((container) => [container.id, container.running])).toEqual([[theirs, true]]);
    await robot.remove();
    await robot.settled();
    expect((await robot.containers()).map((container) => [container.id, container.running])).toEqual([[theirs, true]]);
  });
});
