import { describe, expect, it } from 'vitest';
import { bind, type Document, refusals, service } from './compose.fixture.js';

/** The rules that refuse it, and where. */
function rules(document: Document, compose: object = {}): string[] {
  return refusals(document, compose).map(({ rule, path }) => `${rule} at ${path}`);
}

const NETWORKS = { default: { name: 'drover_default', ipam: {} } };

describe('a document that asks for nothing of the robot', () => {
  it('is let through, whatever of compose it uses', () => {
    const document = service(
      {
        command: ['sleep', '1'],
        environment: { A: '1' },
        depends_on: { db: { condition: 'service_healthy', required: true } },
        healthcheck: { test: ['CMD', 'true'] },
        restart: 'unless-stopped',
        init: true,
        read_only: true,
        cap_drop: ['ALL'],
        cap_add: ['SYS_NICE', 'CAP_CHOWN', 'net_bind_service'],
        security_opt: ['no-new-privileges:true'],
        configs: [{ source: 'c', target: '/etc/c' }],
        secrets: [{ source: 's' }],
        volumes: [
          { type: 'volume', source: 'v', target: '/v', volume: {} },
          { type: 'volume', target: '/anonymous' },
          { type: 'tmpfs', target: '/t' },
          { type: 'bind', source: '/data/maps', target: '/maps' },
          { type: 'bind', source: '/dev/shm', target: '/dev/shm' },
          { type: 'bind', source: '/home/robot/maps', target: '/m' },
          { type: 'bind', source: '/usr/share/zoneinfo', target: '/z', read_only: true },
          { type: 'bind', source: '/tmp/.X11-unix', target: '/tmp/.X11-unix' },
        ],
        volumes_from: ['db:ro'],
        links: ['db:database'],
        devices: [{ source: '/dev/lidar', target: '/dev/lidar', permissions: 'rwm' }],
        device_cgroup_rules: ['c 188:* rmw'],
        network_mode: 'host',
        ipc: 'host',
        pid: 'service:db',
        logging: { driver: 'json-file', options: { 'max-size': '10m' } },
        ports: [{ target: 80, published: '8080', protocol: 'tcp', mode: 'ingress' }],
        deploy: { resources: { reservations: { devices: [{ driver: 'nvidia', capabilities: ['gpu'] }] } } },
        'x-note': { privileged: true },
      },
      {
        networks: { ...NETWORKS, back: { name: 'drover_back', driver: 'bridge', internal: true } },
        volumes: {
          v: { name: 'drover_v' },
          n: { name: 'n', driver_opts: { type: 'nfs', o: 'addr=10.0.0.1', device: ':/x' } },
        },
        configs: { c: { name: 'drover_c', content: 'text' } },
        secrets: { s: { name: 'drover_s', content: 'text' } },
        'x-top': {},
      },
    );
    const { services } = document as { services: object };
    expect(refusals({ ...document, services: { ...services, db: { image: 'box:1' } } })).toEqual([]);
  });
});

describe('privileged', () => {
  it('is refused for a container and for what runs in one later, and allowed by its switch', () => {
    const hooks = service({ post_start: [{ command: ['true'], privileged: true }], pre_stop: [{ privileged: 'yes' }] });
    expect(rules(service({ privileged: true }))).toEqual(['policy.compose.privileged at services.web.privileged']);
    expect(rules(service({ privileged: 'true' }))).toHaveLength(1);
    expect(rules(hooks)).toEqual([
      'policy.compose.privileged at services.web.post_start[0].privileged',
      'policy.compose.privileged at services.web.pre_stop[0].privileged',
    ]);
    expect(rules(service({ privileged: true }), { privileged: true })).toEqual([]);
    expect(rules(service({ privileged: false }))).toEqual([]);
  });
});

describe('namespaces of the robot', () => {
  const modes = { network_mode: 'network', ipc: 'ipc', pid: 'pid', uts: 'uts', userns_mode: 'user', cgroup: 'cgroup' };

  it.each(Object.entries(modes))(
    '%s: host is the namespace %s, which is shared only where the policy says so',
    (key, name) => {
      const refused = [`policy.compose.host_namespaces at services.web.${key}`];
      expect(rules(service({ [key]: 'host' }), { host_namespaces: [] })).toEqual(refused);
      expect(rules(service({ [key]: 'host' }), { host_namespaces: [name] })).toEqual([]);
      expect(rules(service({ [key]: 'host' }))).toEqual(['network', 'ipc'].includes(name) ? [] : refused);
    },
  );

  it('are not reached by a network of that driver either', () => {
    const document = service({}, { networks: { n: { name: 'drover_n', driver: 'host' } } });
    expect(rules(document, { host_namespaces: [] })).toEqual(['policy.compose.host_namespaces at networks.n.driver']);
    expect(rules(document)).toEqual([]);
  });
});

describe('containers of others', () => {
  it.each([
    ['network_mode', 'container:theirs'],
    // As compose has it: the name of a network, past the document's own list of them.
    ['network_mode', 'their_net'],
    ['network_mode', 'HOST'],
    ['network_mode', 'service:not-of-the-document'],
    ['ipc', 'container:theirs'],
    ['pid', 'container:theirs'],
    ['cgroup', 'container:theirs'],
  ])('are not joined by %s: %s', (key, mode) => {
    expect(rules(service({ [key]: mode }), { host_namespaces: ['network', 'ipc', 'pid'] })).toEqual([
      `foreign_containers at services.web.${key}`,
    ]);
  });

  it('lend no volumes and no links', () => {
    const document = service({
      volumes_from: ['container:theirs:ro'],
      external_links: ['theirs'],
      links: ['theirs:db'],
    });
    expect(rules(document)).toEqual([
      'foreign_containers at services.web.volumes_from[0]',
      'foreign_containers at services.web.external_links[0]',
      'foreign_containers at services.web.links[0]',
    ]);
  });
});

describe('volumes and networks of others', () => {
  const volume = (keys: Document) => service({}, { volumes: { v: keys } });
  const network = (keys: Document) => service({}, { networks: { n: keys } });

  it.each([
    ['declared as external', { name: 'x', external: true }],
    ['declared as external in the old way', { name: 'x', external: { name: 'x' } }],
    ['called by their name', { name: 'theirs' }],
  ])('are refused where they are %s, unless the policy names them', (_, keys) => {
    expect(rules(volume(keys))).toEqual(['policy.compose.external_volumes at volumes.v']);
    expect(rules(volume(keys), { external_volumes: ['x', 'their*'] })).toEqual([]);
    const named = { ...keys, name: keys.name === 'theirs' ? 'their_net' : 'x' };
    expect(rules(network(named))).toEqual(['policy.compose.external_networks at networks.n']);
    expect(rules(network(named), { external_networks: ['x', 'their_net'] })).toEqual([]);
  });

  it('are not reached by names that mean something else to the engine', () => {
    expect(rules(volume({ name: '/etc' }))).toEqual(['unknown_key at volumes.v.name']);
    expect(rules(volume({ name: '../containers' }))).toEqual(['unknown_key at volumes.v.name']);
    const mount = { type: 'volume', source: '/etc', target: '/x' };
    expect(rules(service({ volumes: [mount] }))).toEqual(['policy.compose.mounts at services.web.volumes[0].source']);
  });

  it('are refused by the driver that is a program of the robot, unless the policy names it', () => {
    expect(rules(volume({ name: 'x', driver: 'plug' }))).toEqual(['policy.compose.volume_drivers at volumes.v.driver']);
    expect(rules(volume({ name: 'x', driver: 'plug' }), { volume_drivers: ['plug'] })).toEqual([]);
    expect(rules(network({ name: 'x', driver: 'plug' }))).toEqual([
      'policy.compose.network_drivers at networks.n.driver',
    ]);
    expect(rules(network({ name: 'x', driver: 'plug' }), { network_drivers: ['pl*'] })).toEqual([]);
  });
});

describe('capabilities', () => {
  it.each([
    'SYS_ADMIN',
    'sys_admin',
    'CAP_SYS_ADMIN',
    'cap_Sys_Module',
    ' SYS_PTRACE',
    'ALL',
    'DAC_READ_SEARCH',
    'NET_ADMIN',
  ])('%j is refused', (name) => {
    expect(rules(service({ cap_add: [name] }))).toEqual(['policy.compose.capabilities at services.web.cap_add[0]']);
  });

  it('are allowed by name, in any way of writing it', () => {
    const document = service({ cap_add: ['CAP_NET_ADMIN'] });
    expect(rules(document, { capabilities: ['net_admin'] })).toEqual([]);
    expect(rules(document, { capabilities: ['SYS_TIME'] })).toHaveLength(1);
  });
});

describe('security_opt', () => {
  it.each([
    'seccomp:unconfined',
    'seccomp=unconfined',
    'seccomp=/srv/profile.json',
    'apparmor=unconfined',
    'systempaths=unconfined',
    'label:disable',
    'label=type:spc_t',
    'no-new-privileges:false',
    'Seccomp=unconfined',
  ])('%s is refused unless the policy has it', (option) => {
    const document = service({ security_opt: ['no-new-privileges:true', option] });
    expect(rules(document)).toEqual(['policy.compose.security_opt at services.web.security_opt[1]']);
    expect(rules(document, { security_opt: [option] })).toEqual([]);
  });
});

describe('devices', () => {
  const device = (source: string) => service({ devices: [{ source, target: '/dev/x', permissions: 'rwm' }] });
  const REFUSED = ['policy.compose.devices at services.web.devices[0]'];

  it.each([
    '/dev/sda',
    '/dev/sda1',
    '/dev/nvme0n1',
    '/dev/mmcblk0p2',
    '/dev/mem',
    '/dev/disk/by-id/x',
    '/dev/mapper/root',
    '/dev/cpu/0/msr',
    '/dev/rootdisk',
    '/dev/harmless',
    '/dev/../dev/./sda',
    '/dev',
    '/',
    '/data/node-made-in-a-container',
    '/closed/x',
    'dev/sda',
  ])('%s is refused', (source) => {
    expect(rules(device(source))).toEqual(REFUSED);
  });

  it('are read in the form of an older compose as well', () => {
    expect(rules(service({ devices: ['/dev/sda:/dev/x:r'] }))).toEqual(REFUSED);
    expect(rules(service({ devices: ['/dev/ttyUSB0:/dev/x'] }))).toEqual([]);
  });

  it('are only those on the list where there is one, and none that a deny rule names', () => {
    const policy = { devices: { allow: ['/dev/ttyUSB*', '/dev/sda'], deny: [{ match: '/dev/ttyUSB9', rule: 'arm' }] } };
    expect(rules(device('/dev/lidar'), { devices: { allow: ['/dev/lidar'] } })).toEqual([]);
    expect(rules(device('/dev/ttyUSB0'), policy)).toEqual([]);
    expect(rules(device('/dev/sda'), policy)).toEqual([]);
    expect(rules(device('/dev/video0'), policy)).toEqual(['policy.compose.devices.allow at services.web.devices[0]']);
    expect(rules(device('/dev/ttyUSB9'), policy)).toEqual(['arm at services.web.devices[0]']);
    expect(rules(device('/dev'), { devices: { deny: ['/dev/video0'] } })).toEqual([
      'policy.compose.devices.deny[0] at services.web.devices[0]',
    ]);
  });

  it.each(['a *:* rwm', 'b 8:0 r', 'c *:* m', 'c 1:1 rwm', ' b 8:* rwm', 'c 21:0 rw', 'all'])(
    'are not opened by the cgroup rule %j',
    (rule) => {
      expect(rules(service({ device_cgroup_rules: [rule] }))).toEqual([
        'policy.compose.devices at services.web.device_cgroup_rules[0]',
      ]);
    },
  );

  it('are not opened by drivers that are not of graphics cards', () => {
    const request = { driver: 'disks', count: 1, capabilities: [['x']] };
    expect(rules(service({ gpus: [request] }))).toEqual(['policy.compose.devices at services.web.gpus[0].driver']);
  });
});

describe('what the engine does for a container', () => {
  it.each([
    [{ runtime: 'evil' }, 'policy.compose.runtimes at services.web.runtime', { runtimes: ['evil'] }],
    [{ cgroup_parent: '/' }, 'policy.compose.cgroup_parents at services.web.cgroup_parent', { cgroup_parents: ['/'] }],
    [
      { annotations: { 'org.systemd.property.DeviceAllow': 'x' } },
      'policy.compose.annotations at services.web.annotations.org.systemd.property.DeviceAllow',
      { annotations: ['org.systemd.*'] },
    ],
    [
      { logging: { driver: 'plugin' } },
      'policy.compose.logging_drivers at services.web.logging.driver',
      { logging_drivers: ['plugin'] },
    ],
    [
      { logging: { driver: 'syslog', options: { 'syslog-address': 'unix:///var/run/docker.sock' } } },
      'policy.compose.logging_drivers at services.web.logging.options.syslog-address',
      { logging_drivers: ['syslog'] },
    ],
    [
      { logging: { driver: 'syslog', options: { 'syslog-tls-key': '/etc/ssl/key.pem' } } },
      'policy.compose.logging_drivers at services.web.logging.options.syslog-tls-key',
      { logging_drivers: ['syslog'] },
    ],
  ])('%j is refused unless the policy names it', (keys, refusal, opens) => {
    expect(rules(service(keys))).toEqual([refusal]);
    expect(rules(service(keys), opens)).toEqual([]);
  });
});

describe('what a document can have no part in', () => {
  it.each([
    [service({ use_api_socket: true }), 'use_api_socket at services.web.use_api_socket'],
    [service({ provider: { type: 'sh' } }), 'provider at services.web.provider'],
    [service({ models: ['m'] }), 'models at services.web.models'],
    [service({ build: { context: '.' } }), 'build at services.web.build'],
    [service({ develop: { watch: [{}] } }), 'develop at services.web.develop'],
    [service({ credential_spec: { file: 'x' } }), 'credential_spec at services.web.credential_spec'],
    [service({ key_of_tomorrow: 1 }), 'unknown_key at services.web.key_of_tomorrow'],
    [service({ Privileged: true }), 'unknown_key at services.web.Privileged'],
    [service({}, { models: { m: {} } }), 'models at models'],
    [service({}, { include: ['x'] }), 'unknown_key at include'],
    [service({ deploy: { tomorrow: 1 } }), 'unknown_key at services.web.deploy.tomorrow'],
    [service({ volumes: ['/etc:/x'] }), 'unknown_key at services.web.volumes[0]'],
    [
      service({ volumes: [{ type: 'npipe', source: 'x', target: '/x' }] }),
      'unknown_key at services.web.volumes[0].type',
    ],
    [service({ volumes: { '/etc': '/x' } }), 'unknown_key at services.web.volumes'],
    [service({ cap_add: 'ALL' }), 'unknown_key at services.web.cap_add'],
    [service({ environment: { PATH: null } }), 'environment at services.web.environment.PATH'],
    [service({ post_start: [{ environment: ['PATH'] }] }), 'environment at services.web.post_start[0].environment[0]'],
    [
      service({ labels: { 'com.docker.compose.project': 'x' } }),
      'reserved_labels at services.web.labels.com.docker.compose.project',
    ],
    [service({ labels: { 'Drover.robot': 'x' } }), 'reserved_labels at services.web.labels.Drover.robot'],
    [service({}, { secrets: { s: { environment: 'PATH' } } }), 'environment at secrets.s.environment'],
    [service({}, { secrets: { s: { name: 's', external: true } } }), 'unknown_key at secrets.s.external'],
  ])('%j is refused', (document, refusal) => {
    expect(rules(document)).toContain(refusal);
  });

  it('is not refused where it says nothing', () => {
    expect(rules(service({ develop: null, credential_spec: {}, provider: null, annotations: {} }))).toEqual([]);
  });
});

describe('all that is refused', () => {
  it('is told at once, each thing once, up to a bound', () => {
    const both = service({ privileged: true, pid: 'host', cap_add: Array.from({ length: 500 }, () => 'ALL') });
    const found = refusals(both);
    expect(found).toHaveLength(100);
    expect(new Set(found.map(({ rule }) => rule)).size).toBe(3);
    expect(found[0]?.message).toContain('root');
  });

  it('holds for every service, mounts of the second too', () => {
    const { services } = bind('/etc/ssh') as { services: { web: object } };
    expect(rules({ services: { a: { image: 'x' }, b: services.web } })).toEqual([
      'policy.compose.mounts at services.b.volumes[0]',
    ]);
  });
});
