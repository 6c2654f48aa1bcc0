import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SURROUNDINGS } from '../../policy/compose.fixture.js';
import { DEFAULT_COMPOSE_RULES } from '../../policy/compose-rules.js';
import { tempDataDir } from '../../spool/fixture.js';
import { env } from '../compose.fixture.js';
import { BOX, describeDocker } from '../docker/box.fixture.js';
import { DocumentRefused } from './document.js';
import { prepareDocument } from './prepare.js';

const CANARY = 'drt_canary_that_nobody_may_see';

let directory: string;

beforeEach(() => {
  directory = join(tempDataDir(), 'compose');
  mkdirSync(directory, { recursive: true });
  process.env.DROVER_TOKEN = CANARY;
});

afterEach(() => {
  delete process.env.DROVER_TOKEN;
});

async function prepare(content: Record<string, unknown>) {
  // What docker has of the agent's environment, here with something worth taking.
  const cli = { directory, project: 'rules-prepare', env: { ...env, DOCKER_AUTH_CONFIG: CANARY } };
  const lookAround = () => Promise.resolve({ ...SURROUNDINGS, secrets: [...SURROUNDINGS.secrets, directory] });
  return await prepareDocument(content, { cli, rules: DEFAULT_COMPOSE_RULES, lookAround, configMsMax: 60_000 });
}

async function refused(content: Record<string, unknown>): Promise<DocumentRefused> {
  const error = await prepare(content).then(
    ({ text }) => expect.fail(`was let through: ${text}`),
    (caught: unknown) => caught,
  );
  if (!(error instanceof DocumentRefused)) throw error;
  expect(error.message).not.toContain(CANARY);
  return error;
}

const web = (keys: Record<string, unknown>, top: Record<string, unknown> = {}) => ({
  services: { web: { image: BOX, ...keys } },
  ...top,
});

describeDocker('a document that compose makes the normal form of', () => {
  it('comes out as it was meant, and as itself when compose reads it again', async () => {
    const odd = 'a\u2028b\u0085c"\\ \u{1F916} $$HOME $${X}';
    const content = {
      name: 'another',
      services: {
        base: { image: BOX, command: ['echo', '${GREETING:-hello}', odd], environment: ['A=1', 'B=${X-}'] },
        web: {
          extends: { service: 'base' },
          depends_on: { base: { condition: 'service_healthy' } },
          healthcheck: { test: 'true', interval: '1s' },
          configs: [{ source: 'c', target: '/c' }],
          secrets: ['s'],
          volumes: ['data:/data', '/data/maps:/maps:ro'],
          networks: ['back'],
          labels: ['a=b$$c'],
          restart: 'unless-stopped',
        },
        tool: { image: BOX, profiles: ['debug'] },
      },
      volumes: { data: null },
      networks: { back: {} },
      configs: { c: { content: 'cost: 5$$\n' } },
      secrets: { s: { file: '/data/keys/s' } },
    };
    const { document, text } = await prepare(content);
    expect(document).toMatchObject({
      name: 'rules-prepare',
      services: {
        base: { command: ['echo', 'hello', 'a\u2028b\u0085c"\\ \u{1F916} $HOME ${X}'], environment: { A: '1', B: '' } },
        web: { labels: { a: 'b$c' }, environment: { A: '1', B: '' }, networks: { back: null } },
      },
      volumes: { data: { name: 'rules-prepare_data' } },
      configs: { c: { content: 'cost: 5$\n' } },
    });
    expect(Object.keys(document.services as object)).toEqual(['base', 'web']);
    expect((await prepare(JSON.parse(text))).document).toEqual(document);
  });

  it('gets nothing from the environment of the agent, however it asks', async () => {
    for (const value of [
      '${DROVER_TOKEN}',
      '$DROVER_TOKEN',
      '${X:-${DROVER_TOKEN}}',
      '${DOCKER_AUTH_CONFIG:-x}',
      '${HOME:-x}',
    ]) {
      const { code, refusals } = await refused(web({ command: ['echo', value] }));
      expect(code).toBe('invalid_compose_file');
      expect(refusals).toMatchObject([{ rule: 'variables', path: 'services.web.command[1]' }]);
    }
    for (const content of [
      web({ environment: ['DROVER_TOKEN'] }),
      web({ environment: { DROVER_TOKEN: null } }),
      web({ secrets: ['s'] }, { secrets: { s: { environment: 'DROVER_TOKEN' } } }),
      web({ configs: ['c'] }, { configs: { c: { environment: 'DROVER_TOKEN' } } }),
    ]) {
      expect((await refused(content)).refusals).toMatchObject([{ rule: 'environment' }]);
    }
    // With a default a variable has that, whatever the agent's environment holds.
    const { text } = await prepare(web({ command: ['echo', '${DROVER_TOKEN:-none}', '${DROVER_TOKEN+some}'] }));
    expect(text).toContain('["echo","none",""]');
  });

  it('gets nothing from files, not even into an error', async () => {
    const file = join(directory, '..', 'secret.env');
    writeFileSync(file, `${CANARY} = {{{\n`);
    for (const content of [
      web({ env_file: file }),
      web({ env_file: [{ path: file, required: false }] }),
      web({ label_file: file }),
      web({ extends: { file, service: 'x' } }),
      web({}, { include: [file] }),
      web({}, { include: [{ path: 'https://example.com/x.git' }] }),
      web({ configs: ['c'] }, { configs: { c: { file: 'secret.env' } } }),
      web({ secrets: ['s'] }, { secrets: { s: { file: '../secret.env' } } }),
      web({ build: { context: directory } }),
      web({ volumes: ['./x:/x'] }),
      web({ volumes: ['~/x:/x'] }),
      web({ volumes: [{ type: 'bind', source: '../x', target: '/x' }] }),
    ]) {
      const { code, refusals } = await refused(content);
      expect({ content, code, rules: refusals.map(({ rule }) => rule) }).toEqual({
        content,
        code: 'invalid_compose_file',
        rules: ['files'],
      });
    }
  });

  it('is refused in the words of compose where compose does not understand it', async () => {
    for (const content of [
      web({ Privileged: true }),
      web({ '<<': { privileged: true } }),
      web({ volumes: ['nowhere:/x'] }),
      web({ command: '${' }),
      { services: { '<<': { image: BOX } } },
    ]) {
      const { code, refusals } = await refused(content);
      expect({ code, refusals }).toMatchObject({
        code: 'invalid_compose_file',
        refusals: [{ rule: 'docker compose' }],
      });
    }
  });
});

describeDocker('what the policy refuses', () => {
  it.each([
    ['policy.compose.privileged', web({ privileged: '${X:-true}' })],
    ['policy.compose.privileged', { services: { a: { image: BOX, privileged: true }, web: { extends: 'a' } } }],
    ['policy.compose.mounts', web({ volumes: ['/etc/ssh:/x'] })],
    ['policy.compose.mounts', web({ volumes: ['/etc/ssh:/x:ro,z'] })],
    ['policy.compose.mounts', web({ volumes: ['${X:-/e}${Y:-tc/ssh}:/x'] })],
    ['policy.compose.mounts', web({ volumes: ['/data/../etc//ssh/.:/x'] })],
    ['policy.compose.mounts', web({ volumes: [{ type: 'bind', source: '/proc/1/root', target: '/x' }] })],
    [
      'policy.compose.mounts',
      web(
        { volumes: ['vol:/x'] },
        { volumes: { vol: { driver_opts: { type: 'none', o: 'bind', device: '/etc/ssh' } } } },
      ),
    ],
    [
      'policy.compose.mounts',
      web({ volumes: ['vol:/x'] }, { volumes: { vol: { driver_opts: { type: 'ext4', device: '/dev/sda1' } } } }),
    ],
    ['agent_files', web({ volumes: ['/srv/drover:/x'] })],
    ['agent_files', web({ volumes: ['/:/host:ro'] })],
    ['agent_files', web({ volumes: ['${X:-.}/secrets:/x'] })],
    ['policy.compose.docker_socket', web({ volumes: ['/var/run/docker.sock:/var/run/docker.sock'] })],
    ['policy.compose.docker_socket', web({ volumes: ['/run:/host/run'] })],
    ['policy.compose.mounts', web({ secrets: ['s'] }, { secrets: { s: { file: '/etc/shadow' } } })],
    ['agent_files', web({ configs: ['c'] }, { configs: { c: { file: '/srv/drover/token' } } })],
    ['policy.compose.nested_mounts', web({ volumes: ['/data:/a', '/data/b:/b'] })],
    ['policy.compose.host_namespaces', web({ pid: 'host' })],
    ['policy.compose.host_namespaces', web({ userns_mode: 'host' })],
    ['policy.compose.host_namespaces', web({ cgroup: 'host' })],
    ['foreign_containers', web({ network_mode: 'container:theirs' })],
    ['foreign_containers', web({ network_mode: 'their_net' })],
    ['foreign_containers', web({ volumes_from: ['container:theirs'] })],
    ['policy.compose.external_volumes', web({ volumes: ['vol:/x'] }, { volumes: { vol: { external: true } } })],
    ['policy.compose.external_volumes', web({ volumes: ['vol:/x'] }, { volumes: { vol: { name: 'theirs' } } })],
    ['policy.compose.external_networks', web({ networks: ['n'] }, { networks: { n: { external: { name: 'x' } } } })],
    ['policy.compose.capabilities', web({ cap_add: ['sys_admin'] })],
    ['policy.compose.security_opt', web({ security_opt: ['seccomp:unconfined'] })],
    ['policy.compose.devices', web({ devices: ['/dev/sda'] })],
    ['policy.compose.devices', web({ devices: ['/dev/mem:/dev/harmless:r'] })],
    ['policy.compose.devices', web({ device_cgroup_rules: ['b *:* rwm'] })],
    ['policy.compose.cgroup_parents', web({ cgroup_parent: '/' })],
    ['reserved_labels', web({ labels: ['com.docker.compose.project=theirs'] })],
  ])('%s refuses in whatever way it is written: %j', async (rule, content) => {
    const { code, refusals } = await refused(content);
    expect({ code, rules: [...new Set(refusals.map((refusal) => refusal.rule))] }).toEqual({
      code: 'not_allowed',
      rules: [rule],
    });
  });
});
