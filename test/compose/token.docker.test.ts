import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDocker } from '../support/docker/docker.js';
import { type Content, DockerRobot, runs } from '../support/docker/docker-robot.js';

const SECRET = 'a-secret-of-the-robots-own';

describeDocker('a document that asks for what is the agent’s', () => {
  let robot: DockerRobot;
  let image: string;
  let token: string;

  beforeAll(async () => {
    robot = await DockerRobot.start({ env: { ROBOT_SECRET: SECRET } });
    image = await robot.images.make('runs');
    // What the agent's process was started with is what it holds.
    const environment = await readFile(`/proc/${robot.agent.process.pid}/environ`, 'utf8');
    token = /DROVER_TOKEN=([^\0]+)/.exec(environment)?.[1] ?? '';
    expect(token).not.toBe('');
    expect(environment).toContain(SECRET);
    await writeFile(join(robot.agent.dataDir, 'token.env'), `STOLEN=${token}\n`);
  });

  afterAll(async () => {
    await robot?.stop();
  });

  /** All that anybody could read after the document was put on the robot: what ran, what it printed, what the cloud shows. */
  async function attempt(content: Content): Promise<{ outcome: string; seen: string }> {
    const answer = await robot.cloud.call('POST', '/compose-files', { id: 'a-thief', content });
    if (answer.status !== 201) return { outcome: 'not stored', seen: JSON.stringify(answer.body) };
    await robot.assign('a-thief');
    const { state, error_code } = await robot.settled();
    const containers = await robot.containers();
    const seen = [
      JSON.stringify(containers),
      ...(await Promise.all(containers.map(({ id }) => robot.docker.try('exec', id, 'env')))).map(
        ({ stdout }) => stdout,
      ),
      ...(
        await Promise.all(
          containers.map(({ id }) => robot.docker.try('exec', id, 'sh', '-c', 'cat /stolen /stolen/* /run/secrets/*')),
        )
      ).map(({ stdout }) => stdout),
      ...(await Promise.all(containers.map(({ id }) => robot.docker.try('logs', id)))).map(
        ({ stdout, stderr }) => stdout + stderr,
      ),
      JSON.stringify(await robot.detail()),
      JSON.stringify((await robot.plan({ content })).body),
    ].join('\n');
    await robot.remove();
    await robot.settled();
    expect((await robot.cloud.call('DELETE', '/compose-files/a-thief')).status).toBe(204);
    return { outcome: error_code ?? state, seen };
  }

  it('would be found out here, if it got it', async () => {
    const { outcome, seen } = await attempt({ services: { nav: runs(image, { environment: { STOLEN: token } }) } });
    expect(outcome).toBe('up');
    expect(seen).toContain(token);
  });

  const nav = (more: Content) => ({ services: { nav: runs(image, more) } });

  it.each<[string, () => Content]>([
    [
      'by a variable in the environment',
      () => nav({ environment: { STOLEN: `$\{DROVER_TOKEN}`, OTHER: '$ROBOT_SECRET' } }),
    ],
    ['by a variable with a default', () => nav({ environment: { STOLEN: `$\{DROVER_TOKEN:-}$\{ROBOT_SECRET-}` } })],
    ['by a variable that makes an error', () => nav({ environment: { STOLEN: `$\{NOT_THERE:?$\{DROVER_TOKEN}}` } })],
    [
      'by a variable in a label, a command, a name',
      () =>
        nav({ labels: { a: `$\{DROVER_TOKEN}` }, command: ['echo', `$\{ROBOT_SECRET}`], hostname: `$\{DROVER_TOKEN}` }),
    ],
    ['by passing its environment through', () => nav({ environment: ['DROVER_TOKEN', 'ROBOT_SECRET'] })],
    ['by passing it through with null', () => nav({ environment: { DROVER_TOKEN: null, ROBOT_SECRET: null } })],
    ['by an env_file', () => nav({ env_file: join(robot.agent.dataDir, 'token.env') })],
    [
      'by an env_file that need not be there',
      () => nav({ env_file: [{ path: join(robot.agent.dataDir, 'token.env'), required: false }] }),
    ],
    ['by the environment of its process', () => nav({ env_file: `/proc/${robot.agent.process.pid}/environ` })],
    [
      'by a secret from the environment',
      () => ({ ...nav({ secrets: ['s'] }), secrets: { s: { environment: 'DROVER_TOKEN' } } }),
    ],
    [
      'by a config from the environment',
      () => ({
        ...nav({ configs: [{ source: 'c', target: '/stolen' }] }),
        configs: { c: { environment: 'ROBOT_SECRET' } },
      }),
    ],
    [
      'by a config with a variable',
      () => ({
        ...nav({ configs: [{ source: 'c', target: '/stolen' }] }),
        configs: { c: { content: `$\{DROVER_TOKEN}` } },
      }),
    ],
    [
      'by a secret of a file',
      () => ({ ...nav({ secrets: ['s'] }), secrets: { s: { file: join(robot.agent.dataDir, 'token.env') } } }),
    ],
    [
      'by a config of a file',
      () => ({
        ...nav({ configs: [{ source: 'c', target: '/stolen' }] }),
        configs: { c: { file: join(robot.agent.dataDir, 'token.env') } },
      }),
    ],
    ['by a mount of its data', () => nav({ volumes: [`${robot.agent.dataDir}:/stolen`] })],
    [
      'by a mount of a file of its data',
      () => nav({ volumes: [{ type: 'bind', source: join(robot.agent.dataDir, 'token.env'), target: '/stolen' }] }),
    ],
    ['by a mount of what its data is in', () => nav({ volumes: ['/tmp:/stolen'] })],
    [
      'by a volume that is its data',
      () => ({
        ...nav({ volumes: ['v:/stolen'] }),
        volumes: { v: { driver_opts: { type: 'none', o: 'bind', device: robot.agent.dataDir } } },
      }),
    ],
    ['by a mount of the processes', () => nav({ volumes: ['/proc:/stolen'] })],
    [
      'by the processes of the robot',
      () => nav({ pid: 'host', command: ['sh', '-c', 'cat /proc/[0-9]*/environ; sleep 1000'] }),
    ],
    ['by an include', () => ({ ...nav({}), include: [join(robot.agent.dataDir, 'token.env')] })],
    ['by extending a file', () => nav({ extends: { file: join(robot.agent.dataDir, 'token.env'), service: 'nav' } })],
    ['by a label file', () => nav({ label_file: join(robot.agent.dataDir, 'token.env') })],
    [
      'by building with its data',
      () => ({
        services: {
          nav: { build: { context: robot.agent.dataDir, dockerfile_inline: `FROM ${image}\nCOPY . /stolen` } },
        },
      }),
    ],
    ['by the name of the project', () => ({ ...nav({}), name: `$\{DROVER_TOKEN}` })],
    ['by a key', () => ({ ...nav({ environment: [`$\{DROVER_TOKEN}=1`] }) })],
  ])('gets nothing %s', async (_how, content) => {
    const { outcome, seen } = await attempt(content());
    expect(['not stored', 'up', 'invalid_compose_file', 'not_allowed', 'start_failed']).toContain(outcome);
    expect(seen).not.toContain(token);
    expect(seen).not.toContain(SECRET);
  });
});
