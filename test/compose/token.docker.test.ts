import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDocker } from '../support/docker/docker.js';
import { type Content, DockerRobot, runs } from '../support/docker/docker-robot.js';

const SECRET = 'a-secret-of-the-robots-own';

describeDocker('a document that asks for what is the agent’s', () => {
  let robot: DockerRobot;
  let image: string;
  let token: string;
  /** Of the robot, but not of the agent: what is in it may be mounted. */
  let folder: string;
  /** Where the engine keeps its own data. */
  let root: string;
  /** Holds the agent's data, and in it a file with the token. */
  let data: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'drover-thief-'));
    for (const name of ['docker', 'certs', 'shared']) await mkdir(join(folder, name));
    await writeFile(join(folder, 'docker/config.json'), JSON.stringify({ HttpHeaders: { 'x-secret': SECRET } }));
    await writeFile(join(folder, 'certs/key.pem'), SECRET);
    robot = await DockerRobot.start({
      env: {
        ROBOT_SECRET: SECRET,
        DOCKER_CONFIG: join(folder, 'docker'),
        DOCKER_CERT_PATH: join(folder, 'certs'),
        DOCKER_SECRET: SECRET,
      },
    });
    data = robot.agent.dataDir;
    image = await robot.images.make('runs');
    root = await robot.docker.run('info', '-f', '{{.DockerRootDir}}');
    // What the agent's process was started with is what it holds.
    const environment = await readFile(`/proc/${robot.agent.process.pid}/environ`, 'utf8');
    token = /DROVER_TOKEN=([^\0]+)/.exec(environment)?.[1] ?? '';
    expect(token).not.toBe('');
    expect(environment).toContain(SECRET);
    await writeFile(join(data, 'token.env'), `STOLEN=${token}\n`);
    await symlink(data, join(folder, 'link'));
    await symlink(join(data, 'token.env'), join(folder, 'file'));
  });

  afterAll(async () => {
    await robot?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** What became of a document, and all that anybody could read then: what ran, what it printed, what the cloud shows. */
  async function attempt(content: Content): Promise<{ outcome: string; seen: string }> {
    const answer = await robot.cloud.call('POST', '/compose-files', { id: 'a-thief', content });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    await robot.assign('a-thief');
    const { state, error_code } = await robot.settled();
    const containers = await robot.containers();
    const within = (id: string, command: string) => robot.docker.try('exec', id, 'sh', '-c', command);
    const read = 'env; hostname; cat /stolen /stolen/* /stolen/compose/* /run/secrets/* /proc/[0-9]*/environ';
    const outputs = await Promise.all(containers.flatMap(({ id }) => [within(id, read), robot.docker.try('logs', id)]));
    const detail = await robot.detail();
    const planned = await robot.plan({ content });
    const seen = JSON.stringify([containers, outputs, detail, planned.body]);
    await robot.remove();
    await robot.settled();
    expect((await robot.cloud.call('DELETE', '/compose-files/a-thief')).status).toBe(204);
    const rules = [
      ...new Set([...(detail.error_message ?? '').matchAll(/\(([a-z_ .]+)\)(?=;|$)/g)].map(([, rule]) => rule)),
    ];
    return { outcome: error_code === null ? state : `${error_code}: ${rules}`, seen };
  }

  it.each<[string, () => Content]>([
    ['as a value', () => nav({ environment: { STOLEN: token } })],
    ['as a file', () => nav({ volumes: [`${folder}/shared:/stolen`] })],
  ])('would be found out here, if it got it: %s', async (_how, content) => {
    await writeFile(join(folder, 'shared/token'), token);
    const { outcome, seen } = await attempt(content());
    await rm(join(folder, 'shared/token'));
    expect(outcome).toBe('up');
    expect(seen).toContain(token);
  });

  const nav = (more: Content, top: Content = {}) => ({ services: { nav: runs(image, more) }, ...top });
  const mount = (source: string, more: Content = {}) =>
    nav({ volumes: [{ type: 'bind', source, target: '/stolen', read_only: true, ...more }] });
  const volume = (o: string, device: string, type = 'none') =>
    nav({ volumes: ['vol:/stolen'] }, { volumes: { vol: { driver_opts: { type, o, device } } } });
  const secret = (definition: Content) => nav({ secrets: ['s'] }, { secrets: { s: definition } });
  const config = (definition: Content) =>
    nav({ configs: [{ source: 'c', target: '/stolen' }] }, { configs: { c: definition } });
  const build = (definition: Content) => ({ services: { nav: { image: 'a-thief', build: definition } } });
  const file = () => join(data, 'token.env');
  const process = () => `/proc/${robot.agent.process.pid}`;

  const variables = 'invalid_compose_file: variables';
  const environment = 'invalid_compose_file: environment';
  const files = 'invalid_compose_file: files';
  const agentFiles = 'not_allowed: agent_files';
  const mounts = 'not_allowed: policy.compose.mounts';
  const namespaces = 'not_allowed: policy.compose.host_namespaces';

  it.each<[string, string, () => Content]>([
    ['a variable', variables, () => nav({ environment: { STOLEN: `$\{DROVER_TOKEN}`, OTHER: '$ROBOT_SECRET' } })],
    ['a variable with a default', 'up', () => nav({ environment: { STOLEN: `$\{DROVER_TOKEN:-}$\{ROBOT_SECRET-}` } })],
    ['a variable that is set', 'up', () => nav({ environment: { STOLEN: `$\{DROVER_TOKEN:+$\{ROBOT_SECRET:-}}` } })],
    ['a variable in a default', variables, () => nav({ environment: { STOLEN: `$\{X:-$\{DROVER_TOKEN}}` } })],
    ['a variable in an error', variables, () => nav({ environment: { STOLEN: `$\{X:?$\{DROVER_TOKEN}}` } })],
    ["a variable of docker's own", variables, () => nav({ environment: { STOLEN: `$\{DOCKER_SECRET:-none}` } })],
    // Read once it is a $, read twice it would be the variable.
    [
      'a variable that is read twice',
      'up',
      () => nav({ command: ['echo', `$$\{DROVER_TOKEN}`, '$$$$ROBOT_SECRET'], restart: 'no' }),
    ],
    ['a variable for the shell', 'up', () => nav({ command: ['sh', '-c', 'echo "$$DROVER_TOKEN$$ROBOT_SECRET"'] })],
    ['a label', variables, () => nav({ labels: { a: `$\{DROVER_TOKEN}` } })],
    ['a command', variables, () => nav({ command: ['echo', `$\{ROBOT_SECRET}`] })],
    ['a host name', variables, () => nav({ hostname: `$\{DROVER_TOKEN}` })],
    ['an extension', variables, () => nav({}, { 'x-stolen': [`$\{DROVER_TOKEN}`] })],
    ['the name of the project', variables, () => nav({}, { name: `$\{DROVER_TOKEN}` })],
    ['a key', variables, () => nav({ environment: [`$\{DROVER_TOKEN}=1`] })],
    ['a key of a mapping', 'up', () => nav({ labels: { $DROVER_TOKEN: '1' } })],
    ['passing it on', environment, () => nav({ environment: ['DROVER_TOKEN', 'ROBOT_SECRET'] })],
    ['passing it on with null', environment, () => nav({ environment: { DROVER_TOKEN: null, ROBOT_SECRET: null } })],
    ['an env_file', files, () => nav({ env_file: file() })],
    ['an env_file that may be missing', files, () => nav({ env_file: [{ path: file(), required: false }] })],
    ['an env_file of the process', files, () => nav({ env_file: `${process()}/environ` })],
    ['a label file', files, () => nav({ label_file: file() })],
    ['an include', files, () => nav({}, { include: [file()] })],
    ['an include from afar', files, () => nav({}, { include: [{ path: 'https://127.0.0.1:1/a.git' }] })],
    ["an include's env_file", files, () => nav({}, { include: [{ path: '/dev/null', env_file: file() }] })],
    ['extending a file', files, () => nav({ extends: { file: file(), service: 'nav' } })],
    ['a credential spec', files, () => nav({ credential_spec: { file: file() } })],
    [
      'building with the data',
      files,
      () => build({ context: data, dockerfile_inline: `FROM ${image}\nCOPY . /stolen` }),
    ],
    ['building with an argument', files, () => build({ context: '.', args: ['DROVER_TOKEN'] })],
    ['building with a context beside', files, () => build({ context: '.', additional_contexts: { stolen: data } })],
    ['a secret from the environment', environment, () => secret({ environment: 'DROVER_TOKEN' })],
    ['a config from the environment', environment, () => config({ environment: 'ROBOT_SECRET' })],
    ['a config with a variable', variables, () => config({ content: `$\{DROVER_TOKEN}` })],
    ['a secret of a file', agentFiles, () => secret({ file: file() })],
    ['a secret of a link to it', agentFiles, () => secret({ file: join(folder, 'file') })],
    ['a secret of the process', mounts, () => secret({ file: `${process()}/environ` })],
    ['a secret of a file in a variable', agentFiles, () => secret({ file: `$\{X:-/}${file().slice(1)}` })],
    ['a config of a file', agentFiles, () => config({ file: file() })],
    ['a config of a relative file', files, () => config({ file: '../state.json' })],
    ['a mount of the data', agentFiles, () => mount(data)],
    ['a short mount of the data', agentFiles, () => nav({ volumes: [`${data}:/stolen:ro`] })],
    ['a mount of a file in it', agentFiles, () => mount(file())],
    ['a mount of what holds it', agentFiles, () => mount(dirname(data))],
    ['a mount of all', agentFiles, () => mount('/')],
    ['a mount by a detour', agentFiles, () => mount(`${folder}/../${data.split('/').at(-1)}`)],
    ['a mount of a link', agentFiles, () => mount(join(folder, 'link'))],
    ['a mount of a link to a file', agentFiles, () => mount(join(folder, 'file'))],
    ['a mount through a link', agentFiles, () => mount(join(folder, 'link/compose'))],
    ["a mount of docker's logins", agentFiles, () => mount(join(folder, 'docker'))],
    ["a mount of the engine's key", agentFiles, () => mount(join(folder, 'certs'))],
    ['a mount of the processes', mounts, () => mount('/proc')],
    ['a mount of its process', mounts, () => mount(`${process()}/environ`)],
    ['a mount through its process', agentFiles, () => mount(`${process()}/root${data}`)],
    ['a mount of whoever looks', mounts, () => mount('/dev/fd')],
    ['a volume that is the data', agentFiles, () => volume('bind', data)],
    ['a volume that is all with what is in it', agentFiles, () => volume('ro,rbind', '/')],
    ['a volume that is a link', agentFiles, () => volume('bind', join(folder, 'link'))],
    ['a volume that is no tmpfs', agentFiles, () => volume('bind', data, 'tmpfs')],
    ['a volume that is laid over it', mounts, () => volume(`lowerdir=${data}:/srv`, 'overlay', 'overlay')],
    ['a volume that is a disk', mounts, () => volume('ro', '/dev/sda1', 'ext4')],
    ['the processes of the robot', namespaces, () => nav({ pid: 'host' })],
    ['the engine', 'not_allowed: policy.compose.docker_socket', () => mount('/var/run/docker.sock')],
    ['what containerd keeps', mounts, () => mount('/var/lib/containerd')],
    ['what the engine keeps', mounts, () => mount(root)],
    ['what the engine keeps of others', mounts, () => mount(`${root}/containers`)],
    [
      'reading past permissions',
      'not_allowed: policy.compose.capabilities',
      () => nav({ cap_add: ['DAC_READ_SEARCH'] }),
    ],
    ['looking into processes', 'not_allowed: policy.compose.capabilities', () => nav({ cap_add: ['CAP_SYS_PTRACE'] })],
    ['the disk as a device', 'not_allowed: policy.compose.devices', () => nav({ devices: ['/dev/mem'] })],
    ['the leave to make one', 'not_allowed: policy.compose.devices', () => nav({ device_cgroup_rules: ['b 8:* r'] })],
    ['everything', 'not_allowed: policy.compose.privileged', () => nav({ privileged: true })],
    ["another container's volumes", 'not_allowed: foreign_containers', () => nav({ volumes_from: ['container:a'] })],
    ["another container's processes", 'not_allowed: foreign_containers', () => nav({ pid: 'container:a' })],
    ["the robot's network and memory", 'up', () => nav({ network_mode: 'host', ipc: 'host' })],
  ])('gets nothing by %s (%s)', async (_how, expected, content) => {
    const { outcome, seen } = await attempt(content());
    expect(outcome, seen.slice(-2000)).toBe(expected);
    expect(seen).not.toContain(token);
    expect(seen).not.toContain(SECRET);
  });

  it('gets nothing by a link that a container of its own has made', async () => {
    const shared = join(folder, 'shared');
    const command = ['sh', '-c', `busybox ln -s ${data} /shared/maps; exec sleep 10000`];
    await robot.deploy(nav({ command, init: true, volumes: [`${shared}:/shared`] }));
    const whileItRuns = await robot.plan({ content: mount(join(shared, 'new')) });
    expect(whileItRuns.body).toMatchObject({ refusals: [{ rule: 'policy.compose.nested_mounts' }] });
    await robot.remove();
    await robot.settled();
    const { outcome, seen } = await attempt(mount(join(shared, 'maps')));
    expect(outcome).toBe(agentFiles);
    expect(seen).not.toContain(token);
  });
});
