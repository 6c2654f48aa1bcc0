import { ApiError, type ErrorDetail } from '@drover/shared/api/errors';
import { afterAll, describe, expect, it } from 'vitest';
import { startTestCloud } from '../testing/cloud.js';
import { composeChecker } from './content.js';

type Document = Record<string, unknown>;
const check = composeChecker();

/** `${NAME}`, which a template would take for its own. */
const variable = (name: string) => `$\{${name}}`;

/** A document with one service of these fields. */
const web = (fields: Document, more: Document = {}): Document => ({
  services: { web: { image: 'nginx:1', ...fields } },
  ...more,
});

/** Each was put before docker compose as well, which takes it, or knows it in a later release. */
const VALID: Record<string, Document> = {
  'durations of days and weeks': web({ healthcheck: { test: 'x', interval: '1d12h' }, stop_grace_period: '1w' }),
  'extensions anywhere, of any form': {
    ...web({ 'x-a': { b: [1, null, 'x', { c: true }] } }),
    'x-top': [1.5, null, {}],
    networks: { n: { 'x-n': 1 } },
  },
  'nothing in a command, an entrypoint, a deploy, a network, a volume': {
    ...web({ command: null, entrypoint: null, deploy: null, networks: { n: null }, volumes: ['data:/d'] }),
    networks: { n: null },
    volumes: { data: null },
  },
  'an environment of strings, numbers, booleans and nulls': web({
    environment: { A: 1, B: true, C: null, D: 'x', E: 1.5, F: -3, G: '' },
  }),
  'an environment as a list': web({ environment: ['A=1', 'B'] }),
  'ports, short and long': web({
    ports: [
      ...[6060, '80', ':80', '8080:80', '0:80', '127.0.0.1:80:80/udp', '1.2.3.4::80', '[::1]:80:80', '::80'],
      ...['3000-3005', '9090-9091:8080-8081', '8000-8009:80', '80/TCP', '80:80/', `${variable('P:-80')}:80`],
      { target: 80, published: '8080', protocol: 'tcp', mode: 'host', host_ip: '127.0.0.1' },
      { target: '82', published: '9000-9005' },
      { target: 81, published: 8081 },
    ],
    expose: [80, '90', '100-110', '90/udp'],
  }),
  'sizes and big numbers': web({
    mem_limit: Number.MAX_SAFE_INTEGER,
    memswap_limit: -1,
    shm_size: '1gb',
    cpus: 1.5,
    ulimits: { nproc: '65535', nofile: { soft: 1, hard: 2 } },
    sysctls: { 'net.core.somaxconn': 1024 },
    labels: { huge: '18446744073709551615' },
  }),
  'any letters in values': web({
    environment: { ключ: 'значение 🤖' },
    labels: { é: '\u0000a' },
    command: ['echo', '日本'],
  }),
  'strings where variables may stand': web({
    init: 'true',
    privileged: 'false',
    tty: variable('TTY'),
    stdin_open: true,
  }),
  'every form of waiting': {
    services: {
      web: {
        image: 'a',
        depends_on: {
          db: { condition: 'service_healthy', restart: true },
          gone: { condition: 'service_started', required: false },
        },
        links: ['db:x', 'log'],
        volumes_from: ['db:ro', 'container:other'],
        network_mode: 'service:log',
      },
      db: { image: 'b', depends_on: ['log'] },
      log: { image: 'c', ipc: 'host', pid: 'host' },
    },
  },
  'what a variable names': web({
    depends_on: [variable('DB')],
    networks: [variable('NET')],
    volumes: [`${variable('DATA')}:/d`],
    stop_grace_period: variable('T'),
  }),
  'a service that only a profile starts': {
    services: { web: { image: 'a' }, tool: { profiles: ['p'], depends_on: ['zz'] } },
  },
  'health checks': web({
    healthcheck: {
      test: 'curl x',
      interval: '1m30s',
      timeout: '10s',
      retries: 3,
      start_period: '1.5h',
      start_interval: '.5s',
    },
  }),
  'health checks as a list, or none': {
    services: {
      a: { image: 'a', healthcheck: { test: ['CMD', 'true'], retries: '3', interval: '0' } },
      b: { image: 'a', healthcheck: { test: ['NONE'] } },
      c: { image: 'a', healthcheck: { disable: true } },
    },
  },
  'configs and secrets': web(
    { configs: ['c', { source: 'e', target: '/e', mode: 0o440, uid: '1' }], secrets: ['t'] },
    { configs: { c: { content: 'x\ny' }, e: { external: true, name: 'z' } }, secrets: { t: { environment: 'T' } } },
  ),
  networks: web(
    { networks: { front: { aliases: ['x'], ipv4_address: '172.16.1.2', priority: 10 }, default: {} } },
    {
      networks: {
        front: {
          driver: 'bridge',
          driver_opts: { a: 1 },
          internal: true,
          ipam: { config: [{ subnet: '172.16.0.0/16' }] },
        },
        old: { external: { name: 'x' } },
      },
    },
  ),
  'volumes, short and long': web(
    {
      volumes: [
        ...['/anonymous', './here:/a', '~/home:/b', '/abs:/c:ro', 'data:/d', 'a.b:/e'],
        { type: 'volume', source: 'data', target: '/f', volume: { nocopy: true } },
        { type: 'bind', source: '/tmp', target: '/t', bind: { propagation: 'rslave', create_host_path: true } },
        { type: 'tmpfs', target: '/x', tmpfs: { size: '10m', mode: 1777 } },
        { type: 'image', source: 'x', target: '/y', image: { subpath: 'z' } },
      ],
      tmpfs: '/run',
    },
    { volumes: { data: { driver_opts: { type: 'none', o: 'bind', device: '/x' }, labels: ['a=b'] }, 'a.b': null } },
  ),
  'a deploy section': web({
    deploy: {
      mode: 'replicated',
      replicas: '2',
      resources: {
        limits: { cpus: 0.5, memory: '50M', pids: 1 },
        reservations: { devices: [{ capabilities: ['gpu'], count: 'all', driver: 'nvidia' }] },
      },
      restart_policy: { condition: 'on-failure', delay: '5s', max_attempts: 3, window: '120s' },
      update_config: { parallelism: 2, order: 'start-first', failure_action: 'rollback', monitor: '1s' },
    },
  }),
  'devices, capabilities and the rest': web({
    devices: ['/dev/ttyUSB0:/dev/ttyUSB0:rwm', { source: '/dev/x', target: '/dev/y', permissions: 'r' }],
    device_cgroup_rules: ['c 1:3 mr'],
    group_add: ['dialout', 20],
    cap_add: ['SYS_NICE'],
    gpus: 'all',
    extra_hosts: { a: '1.2.3.4', b: ['1.1.1.1'] },
    dns: '8.8.8.8',
    logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': null } },
    restart: 'on-failure:3',
    pull_policy: 'every_12h',
    post_start: [{ command: 'x', user: 'root' }],
    network_mode: 'host',
    platform: 'linux/arm64',
    stop_signal: 'SIGINT',
  }),
  'extending within the document': {
    services: { base: { image: 'a' }, web: { extends: 'base' }, b: { extends: { service: 'web' } } },
  },
  'files beside it, which the robot will refuse': {
    ...web({ env_file: ['./x'], extends: { file: 'x.yaml', service: 'y' }, networks: ['of-the-other'] }),
    include: ['x.yaml'],
  },
  'a build, models and providers': {
    services: { web: { build: '.', models: ['m'] }, p: { provider: { type: 'x', options: { a: 1 } } } },
    models: { m: { model: 'ai/x' } },
  },
  'names of digits, a name and a version': { name: 'my-app', version: '3.8', services: { 1: { image: 'a' } } },
};

function refusalOf(document: Document): readonly ErrorDetail[] {
  try {
    check(document);
  } catch (error) {
    if (error instanceof ApiError) return error.details ?? [];
    throw error;
  }
  return expect.fail('was taken');
}

/** Documents that docker compose refuses, with the place and a word of the reason. */
const INVALID: [string, Document, string, string][] = [
  ['a null service', { services: { web: null } }, 'services.web', 'must be object'],
  ['null ports', web({ ports: null }), 'services.web.ports', 'must be array'],
  ['null labels', web({ labels: null }), 'services.web.labels', 'must be object, or must be array'],
  ['null volumes', web({}, { volumes: null }), 'volumes', 'must be object'],
  ['a number for a user', web({ user: 1000 }), 'services.web.user', 'must be string'],
  ['a name in other letters', { services: { сервис: { image: 'a' } } }, 'services', 'is no name of a service'],
  ['a merge key, which JSON has not', web({ '<<': { image: 'b' } }), 'services.web', 'unknown field <<'],
  ['the same port twice', web({ ports: [80, 80] }), 'services.web.ports', 'the same entry twice'],
  ['a place with a dot', { services: { 'a.b': { imagee: 'x' } } }, 'services.a.b', 'unknown field imagee'],
  ['an integer over 2^53', web({ labels: { n: 2 ** 53 } }), 'services.web.labels.n', 'write it as a string'],
  ['a number without end', web({}, { 'x-n': [1, Number.POSITIVE_INFINITY] }), 'x-n[1]', 'write it as a string'],
  ['half a character', web({ command: ['a', '\ud800'] }), 'services.web.command[1]', 'lone surrogate'],
  ['half a character in a name', web({ labels: { '\udc00': 'x' } }), 'services.web.labels', 'lone surrogate'],
  ['no image', { services: { web: { tty: true } } }, 'services.web', 'needs an image'],
  ['an empty image', web({ image: '' }), 'services.web', 'needs an image'],
  ['waiting for nobody', web({ depends_on: ['db'] }), 'services.web.depends_on[0]', 'no service db'],
  ['waiting for nobody', web({ depends_on: { db: {} } }), 'services.web.depends_on.db', ''],
  ['a link to nobody', web({ links: ['db:x'] }), 'services.web.links[0]', 'no service db'],
  ['volumes from nobody', web({ volumes_from: ['db'] }), 'services.web.volumes_from[0]', 'no service db'],
  ['the network of nobody', web({ network_mode: 'service:db' }), 'services.web.network_mode', 'no service db'],
  ['extending nobody', web({ extends: 'db' }), 'services.web.extends', 'no service db'],
  ['waiting for itself', web({ depends_on: ['web'] }), 'services.web', 'web → web'],
  [
    'waiting in a round',
    { services: { a: { image: 'x', depends_on: ['b'] }, b: { image: 'x', ipc: 'service:a' } } },
    'services.a',
    'a → b → a',
  ],
  ['an unknown network', web({ networks: ['n'] }), 'services.web.networks[0]', 'no network n'],
  ['an unknown network', web({ networks: { n: null } }), 'services.web.networks.n', 'no network n'],
  ['an unknown volume', web({ volumes: ['data:/d'] }), 'services.web.volumes[0]', 'no volume data'],
  [
    'an unknown volume',
    web({ volumes: [{ type: 'volume', source: 'd', target: '/d' }] }),
    'services.web.volumes[0]',
    '',
  ],
  ['an unknown config', web({ configs: [{ source: 'c' }] }), 'services.web.configs[0]', 'no config c'],
  ['an unknown secret', web({ secrets: ['s'] }), 'services.web.secrets[0]', 'no secret s'],
  ['a config of nothing', web({}, { configs: { c: {} } }), 'configs.c', 'needs content'],
  ['a secret of nothing', web({}, { secrets: { s: {} } }), 'secrets.s', 'needs file, the absolute path'],
  ['a secret of two things', web({}, { secrets: { s: { file: '/x', environment: 'X' } } }), 'secrets.s', 'only one'],
  ['two kinds of network', web({ network_mode: 'host', networks: ['default'] }), 'services.web', 'only one of them'],
  ['a duration without unit', web({ stop_grace_period: '5' }), 'services.web.stop_grace_period', '1m30s'],
  ['years', web({ healthcheck: { test: 'x', interval: '1y' } }), 'services.web.healthcheck.interval', 'no duration'],
  ['words', web({ deploy: { restart_policy: { delay: 'soon' } } }), 'services.web.deploy.restart_policy.delay', ''],
  ['a health test', web({ healthcheck: { test: ['curl', 'x'] } }), 'services.web.healthcheck.test[0]', 'CMD-SHELL'],
  ...[
    0,
    -1,
    65536,
    80.5,
    '',
    'ip',
    '80:0',
    '65536',
    '82-80',
    ' 80:80',
    '80:80 ',
    '70000:80',
    '80-82:80-81',
    '80/xyz',
  ].map((port): [string, Document, string, string] => [
    `the port ${port}`,
    web({ ports: [port] }),
    'services.web.ports[0]',
    '',
  ]),
  ...['localhost:80:80', '1.2.3:80:80', '1.2.3.4:80', '::1:80:80', '*:80:80', '8080:80:'].map(
    (port): [string, Document, string, string] => [
      `the port ${port}`,
      web({ ports: [port] }),
      'services.web.ports[0]',
      '',
    ],
  ),
  ['a port of no target', web({ ports: [{ published: 80 }] }), 'services.web.ports[0]', 'needs a target'],
  [
    'more services than a robot can tell of',
    { services: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`s${n}`, { image: 'a' }])) },
    'services',
    '1000 at most',
  ],
];

describe('the content of a compose file', () => {
  it.each(Object.entries(VALID))('takes %s', (_name, document) => {
    check(document);
  });

  it.each(INVALID)('refuses %s, with the place: %j', (_name, document, path, words) => {
    let error: unknown;
    try {
      check(document);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ApiError);
    const { details } = error as ApiError;
    expect(details?.map((detail) => detail.path)).toContain(`content.${path}`);
    expect(details?.find((detail) => detail.path === `content.${path}`)?.message).toContain(words);
  });

  it('says of one place once what it may be', () => {
    try {
      check(web({ ports: [true] }));
      expect.unreachable();
    } catch (error) {
      const place = 'content.services.web.ports[0]';
      expect((error as ApiError).details).toEqual([
        { path: place, message: 'must be number, or must be string, or must be object' },
      ]);
    }
  });

  it('looks at a list as long as a request can hold, whatever is in it, in a time that it is worth', () => {
    // Compared each with each, as the schema's library does it, this takes minutes.
    const ports = Array.from({ length: 100_000 }, (_, n) => ({ target: 80, published: n }));
    check(web({ ports }));
  });

  it('does not lose itself in a duration of many digits', { timeout: 10_000 }, () => {
    // An expression that could read them in two ways takes most of a minute, in which no robot is served.
    expect(refusalOf(web({ stop_grace_period: '1'.repeat(120_000) }))).toMatchObject([
      { path: 'content.services.web.stop_grace_period' },
    ]);
  });

  it('tells no more of a long document that is wrong everywhere than can be read', () => {
    const many = (count: number, entry: (n: number) => unknown) => Array.from({ length: count }, (_, n) => entry(n));
    const services = Object.fromEntries(many(1000, (n) => [`s${n}`, { image: n, ports: many(20, () => true) }]) as []);
    const unknown = Object.fromEntries(many(90_000, (n) => [`k${n}`, 1]) as []);
    // To look for every place that the schema has something against takes seconds.
    expect(refusalOf({ services })).toHaveLength(1);
    for (const document of [{ services }, web({}, unknown), web({ volumes: many(60_000, (n) => `v${n}:/d`) })]) {
      const details = refusalOf(document);
      expect(details.length).toBeGreaterThan(0);
      expect(details.length).toBeLessThanOrEqual(20);
      expect(JSON.stringify(details).length).toBeLessThan(30_000);
    }
  });

  it('does not give a long name back whole', () => {
    const [detail] = refusalOf(web({ networks: ['n'.repeat(100_000)] }));
    expect(detail?.path).toBe('content.services.web.networks[0]');
    expect(detail?.message.length).toBeLessThan(1000);
    const [place] = refusalOf({ services: { web: { image: 'a', ['k'.repeat(100_000)]: 1 } } });
    expect(place?.message.length).toBeLessThan(1000);
  });

  describe('through the store', async () => {
    const cloud = await startTestCloud();
    afterAll(() => cloud.stop());

    it('comes out as it went in', async () => {
      for (const [at, [name, content]] of Object.entries(VALID).entries()) {
        const id = `file-${at}`;
        expect([name, (await cloud.post('/compose-files', { id, content })).status]).toEqual([name, 201]);
        expect((await cloud.get<{ content: unknown }>(`/compose-files/${id}`)).body.content).toEqual(content);
      }
    });

    it('is refused where JSON lets a number be more than it can keep', async () => {
      const body = (number: string) => `{"id":"big-1","content":{"services":{"a":{"image":"x"}},"x-n":${number}}}`;
      for (const number of ['9007199254740993', '1e400', '-9007199254740992']) {
        const answer = await cloud.post('/compose-files', body(number));
        expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, 'content.x-n']);
      }
      expect((await cloud.post('/compose-files', body('9007199254740991'))).status).toBe(201);
    });

    it('is refused where a field is named as no JSON object can hold it', async () => {
      const body = '{"id":"proto-1","content":{"services":{"a":{"image":"x","labels":{"__proto__":"y"}}}}}';
      const answer = await cloud.post('/compose-files', body);
      expect([answer.status, answer.body.error_code]).toEqual([400, 'invalid_request']);
      expect(answer.body.message).toContain('__proto__');
    });
  });
});
