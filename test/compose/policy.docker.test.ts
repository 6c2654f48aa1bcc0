import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDocker } from '../support/docker/docker.js';
import { type Content, DockerRobot, runs } from '../support/docker/docker-robot.js';

/** The defaults, and names of the owner's own. */
const USUAL = `
policy:
  compose:
    images: {deny: [{match: '*/box:runs-old', rule: no_old_images}]}
    mounts: {deny: [{match: /srv/customer, rule: customer_data}]}
    ports: {deny: [{match: 22, rule: ssh_port}]}
`;

/** Nothing but what it lists, in that some that the defaults refuse. */
const LISTED = `
policy:
  compose:
    host_namespaces: []
    images: {allow: ['drover-test-*/box']}
    mounts: {allow: [/srv/maps]}
    devices: {allow: [/dev/null]}
    ports: {allow: [8000-8999]}
    capabilities: [NET_ADMIN]
    external_volumes: ['drover-test-*']
`;

/** A robot with a policy in its agent.yaml, that runs one good version. */
class PolicyRobot {
  readonly folder: string;
  readonly robot: DockerRobot;
  readonly image: string;
  readonly good: string;

  private constructor(folder: string, robot: DockerRobot, image: string, good: string) {
    this.folder = folder;
    this.robot = robot;
    this.image = image;
    this.good = good;
  }

  static async start(policy: string): Promise<PolicyRobot> {
    const folder = await mkdtemp(join(tmpdir(), 'drover-policy-'));
    await writeFile(join(folder, 'agent.yaml'), policy);
    await symlink('/etc', join(folder, 'harmless'));
    const robot = await DockerRobot.start({ env: { DROVER_CONFIG: join(folder, 'agent.yaml') } });
    const image = await robot.images.make('runs');
    return new PolicyRobot(folder, robot, image, await robot.deploy({ services: { nav: runs(image) } }));
  }

  nav(more: Content, top: Content = {}): Content {
    return { services: { nav: runs(this.image, more) }, ...top };
  }

  /** Refused by that rule alone, for what is at that place, in the plan and in the assignment; the engine is as it was. */
  async refuses(content: Content, rule: string, path: string): Promise<void> {
    const { robot, good } = this;
    const before = await this.#atEngine();
    const planned = await robot.plan({ content });
    expect(planned.status, JSON.stringify(planned.body)).toBe(200);
    expect(planned.body).toMatchObject({ refusals: [{ rule, path: expect.stringContaining(path) }] });
    const id = await robot.deploy(content, 'error');
    const detail = await robot.detail();
    expect(detail).toMatchObject({
      error_code: 'not_allowed',
      phase: 'idle',
      running: { id: good },
      failed: { id, error_code: 'not_allowed' },
    });
    expect(detail.error_message).toContain(`(${rule})`);
    expect(detail.error_message).toContain(path);
    expect(await this.#atEngine()).toEqual(before);
  }

  async #atEngine() {
    const { docker, project } = this.robot;
    const label = `label=com.docker.compose.project=${project}`;
    const [containers, volumes, networks] = await Promise.all([
      this.robot.containers(),
      docker.lines('volume', 'ls', '-q', '--filter', label),
      docker.lines('network', 'ls', '-q', '--filter', label),
    ]);
    return { containers: containers.map(({ id, state }) => `${id} ${state}`), volumes, networks };
  }

  async stop(): Promise<void> {
    await this.robot.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

describeDocker("what the robot's policy refuses of a document", () => {
  let usual: PolicyRobot;
  /** A container, a volume and a network of others have this name. */
  let theirs: string;

  beforeAll(async () => {
    usual = await PolicyRobot.start(USUAL);
    const { docker, project } = usual.robot;
    theirs = `${project}-theirs`;
    await docker.run('run', '-d', '--name', theirs, usual.image);
    await docker.run('volume', 'create', theirs);
    await docker.run('network', 'create', theirs);
  });

  afterAll(async () => {
    for (const kind of ['container', 'network', 'volume']) {
      await usual?.robot.docker.try(kind, 'rm', '-f', theirs);
    }
    await usual?.robot.docker.try('network', 'rm', theirs);
    await usual?.stop();
  });

  const nav = (more: Content, top?: Content) => usual.nav(more, top);
  const socket = () => {
    const host = usual.robot.docker.host ?? process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock';
    return host.replace('unix://', '');
  };
  // Names of one letter would be drives of Windows to compose.
  const volume = (definition: Content) => nav({ volumes: ['vol:/host'] }, { volumes: { vol: definition } });
  const network = (definition: Content) => nav({ networks: ['net'] }, { networks: { net: definition } });

  it.each<[string, string, string, () => Content]>([
    ['privileged', 'policy.compose.privileged', 'services.nav.privileged', () => nav({ privileged: true })],
    ['the docker socket', 'policy.compose.docker_socket', 'nav.volumes', () => nav({ volumes: [`${socket()}:/s`] })],
    ['what holds it', 'policy.compose.docker_socket', 'nav.volumes', () => nav({ volumes: ['/run:/run'] })],
    ['all of the disk', 'agent_files', 'nav.volumes', () => nav({ volumes: ['/:/host:ro'] })],
    ['/etc', 'policy.compose.mounts', 'nav.volumes', () => nav({ volumes: ['/etc:/host'] })],
    ['a link to it', 'policy.compose.mounts', 'nav.volumes', () => nav({ volumes: [`${usual.folder}/harmless:/h`] })],
    ['/etc in a variable', 'policy.compose.mounts', 'nav.volumes', () => nav({ volumes: [`$\{X:-/e}tc:/host`] })],
    ['/proc', 'policy.compose.mounts', 'nav.volumes', () => nav({ volumes: ['/proc/1/root:/host'] })],
    [
      'a volume that is /etc',
      'policy.compose.mounts',
      'volumes.vol',
      () => volume({ driver_opts: { type: 'none', o: 'bind', device: '/etc' } }),
    ],
    [
      'a volume that is a disk',
      'policy.compose.mounts',
      'volumes.vol',
      () => volume({ driver_opts: { type: 'ext4', device: '/dev/sda1' } }),
    ],
    [
      'a secret that is a file of /etc',
      'policy.compose.mounts',
      'secrets.s',
      () => nav({ secrets: ['s'] }, { secrets: { s: { file: '/etc/shadow' } } }),
    ],
    [
      'a config that is a file of /etc',
      'policy.compose.mounts',
      'configs.c',
      () => nav({ configs: ['c'] }, { configs: { c: { file: '/etc/shadow' } } }),
    ],
    ["a mount of the owner's list", 'customer_data', 'nav.volumes', () => nav({ volumes: ['/srv/customer/a:/a'] })],
    [
      'a mount in one that containers write to',
      'policy.compose.nested_mounts',
      'nav.volumes',
      () => nav({ volumes: ['/srv/maps:/a', '/srv/maps/new:/b'] }),
    ],
    ["the agent's data", 'agent_files', 'nav.volumes', () => nav({ volumes: [`${usual.robot.agent.dataDir}:/d`] })],
    ["the agent's settings", 'agent_files', 'nav.volumes', () => nav({ volumes: [`${usual.folder}/agent.yaml:/d`] })],
    ['what holds them', 'agent_files', 'nav.volumes', () => nav({ volumes: [`${dirname(usual.folder)}:/data`] })],
    ["the robot's processes", 'policy.compose.host_namespaces', 'services.nav.pid', () => nav({ pid: 'host' })],
    ['its host name', 'policy.compose.host_namespaces', 'services.nav.uts', () => nav({ uts: 'host' })],
    ['its users', 'policy.compose.host_namespaces', 'nav.userns_mode', () => nav({ userns_mode: 'host' })],
    ['its cgroups', 'policy.compose.host_namespaces', 'nav.cgroup', () => nav({ cgroup: 'host' })],
    ['a place among its cgroups', 'policy.compose.cgroup_parents', 'nav', () => nav({ cgroup_parent: '/' })],
    ['a device of its memory', 'policy.compose.devices', 'nav.devices', () => nav({ devices: ['/dev/mem:/dev/x'] })],
    ['all devices of a kind', 'policy.compose.devices', 'nav', () => nav({ device_cgroup_rules: ['b *:* rwm'] })],
    ['a capability', 'policy.compose.capabilities', 'nav.cap_add', () => nav({ cap_add: ['SYS_ADMIN'] })],
    ['no seccomp', 'policy.compose.security_opt', 'nav', () => nav({ security_opt: ['seccomp=unconfined'] })],
    ['another runtime', 'policy.compose.runtimes', 'nav.runtime', () => nav({ runtime: 'sysbox' })],
    ['annotations', 'policy.compose.annotations', 'nav.annotations', () => nav({ annotations: { a: 'b' } })],
    [
      "a log driver of the engine's",
      'policy.compose.logging_drivers',
      'nav.logging',
      () => nav({ logging: { driver: 'awslogs' } }),
    ],
    [
      'a log that is a socket of the robot',
      'policy.compose.logging_drivers',
      'nav.logging',
      () => nav({ logging: { driver: 'syslog', options: { 'syslog-address': 'unixgram:///run/x.sock' } } }),
    ],
    ['a volume driver', 'policy.compose.volume_drivers', 'volumes.vol', () => volume({ driver: 'vieux/sshfs' })],
    ['a network driver', 'policy.compose.network_drivers', 'networks.net', () => network({ driver: 'weave' })],
    [
      'a volume of others',
      'policy.compose.external_volumes',
      'volumes.vol',
      () => volume({ external: true, name: theirs }),
    ],
    ['their volume by its name', 'policy.compose.external_volumes', 'volumes.vol', () => volume({ name: theirs })],
    ['a network of others', 'policy.compose.external_networks', 'networks.net', () => network({ name: theirs })],
    ['their container', 'foreign_containers', 'network_mode', () => nav({ network_mode: `container:${theirs}` })],
    ["their container's ipc", 'foreign_containers', 'nav.ipc', () => nav({ ipc: `container:${theirs}` })],
    ["their container's processes", 'foreign_containers', 'nav.pid', () => nav({ pid: `container:${theirs}` })],
    [
      "their container's volumes",
      'foreign_containers',
      'nav.volumes_from',
      () => nav({ volumes_from: [`container:${theirs}`] }),
    ],
    ['a link to their container', 'foreign_containers', 'nav', () => nav({ external_links: [theirs] })],
    [
      'a label of compose',
      'reserved_labels',
      'nav.labels',
      () => nav({ labels: { 'com.docker.compose.project': 'theirs' } }),
    ],
    ["a label of the agent's", 'reserved_labels', 'nav.labels', () => nav({ labels: ['drover.robot=another'] })],
    [
      "an image of the owner's list",
      'no_old_images',
      'nav.image',
      () => ({ services: { nav: runs(`${usual.robot.images.repository}:runs-old`) } }),
    ],
    ["a port of the owner's list", 'ssh_port', 'nav.ports', () => nav({ ports: ['20-24:20-24'] })],
  ])('%s: by the name of the rule (%s), before anything is touched', async (_what, rule, path, content) => {
    await usual.refuses(content(), rule, path);
  });

  it('never what DDS needs: the network and ipc of the robot', async () => {
    await usual.robot.deploy(nav({ network_mode: 'host', ipc: 'host' }));
  });

  it('a project of the same name that is not its own: it is left alone', async () => {
    const { robot, image } = usual;
    await robot.remove();
    expect((await robot.settled()).state).toBe('down');
    const labels = [`com.docker.compose.project=${robot.project}`, 'com.docker.compose.service=nav'];
    const foreign = await robot.docker.run('run', '-d', ...labels.flatMap((label) => ['--label', label]), image);
    const id = await robot.deploy(nav({}), 'error');
    expect(await robot.detail()).toMatchObject({ error_code: 'start_failed', failed: { id } });
    const there = async () => (await robot.containers()).map((container) => [container.id, container.running]);
    expect(await there()).toEqual([[foreign, true]]);
    await robot.remove(true);
    expect(await robot.settled()).toMatchObject({ state: 'error', error_code: 'stop_failed' });
    expect(await there()).toEqual([[foreign, true]]);
  });
});

describeDocker('a policy that lists what may be', () => {
  let listed: PolicyRobot;
  let volume: string;

  beforeAll(async () => {
    listed = await PolicyRobot.start(LISTED);
    volume = `${listed.robot.project}-shared`;
    await listed.robot.docker.run('volume', 'create', volume);
  });

  afterAll(async () => {
    await listed?.stop();
    await listed?.robot.docker.try('volume', 'rm', '-f', volume);
  });

  const nav = (more: Content, top?: Content) => listed.nav(more, top);

  it.each<[string, string, string, () => Content]>([
    [
      'images by their names',
      'policy.compose.images.allow',
      'nav.image',
      () => ({ services: { nav: { image: 'x/box' } } }),
    ],
    ['no ids of images', 'policy.compose.images', 'nav.image', () => ({ services: { nav: { image: 'feedbeef' } } })],
    ['mounts', 'policy.compose.mounts.allow', 'nav.volumes', () => nav({ volumes: ['/srv/other:/m'] })],
    ['devices', 'policy.compose.devices.allow', 'nav.devices', () => nav({ devices: ['/dev/zero'] })],
    ['ports', 'policy.compose.ports.allow', 'nav.ports', () => nav({ ports: ['9000:80'] })],
    ['namespaces', 'policy.compose.host_namespaces', 'nav.network_mode', () => nav({ network_mode: 'host' })],
  ])('refuses others: %s (%s)', async (_what, rule, path, content) => {
    await listed.refuses(content(), rule, path);
  });

  it('lets that through, also what no document may have by default', async () => {
    await listed.robot.deploy(
      nav(
        { cap_add: ['NET_ADMIN'], devices: ['/dev/null'], volumes: ['vol:/v'] },
        { volumes: { vol: { external: true, name: volume } } },
      ),
    );
    const [container] = await listed.robot.containers();
    expect(container?.inspected.HostConfig).toMatchObject({ CapAdd: ['NET_ADMIN'] });
  });
});
