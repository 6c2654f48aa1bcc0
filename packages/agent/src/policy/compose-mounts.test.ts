import { describe, expect, it } from 'vitest';
import { bind, type Document, refusals, service } from './compose.fixture.js';

/** The rule that refuses a mount; null: none does. */
function rule(document: Document, compose: object = {}): string | null {
  return refusals(document, compose)[0]?.rule ?? null;
}

const MOUNTS = 'policy.compose.mounts';
const SOCKET = 'policy.compose.docker_socket';
const AGENT = 'agent_files';

describe('a mount of', () => {
  it.each([
    // The engine's socket, under any of its names and in any directory above it.
    ['/var/run/docker.sock', SOCKET],
    ['/run/docker.sock', SOCKET],
    ['/run/../var/run/docker.sock', SOCKET],
    ['//var//run/./docker.sock', SOCKET],
    ['/srv/engine/docker.sock', SOCKET],
    ['/srv/engine', SOCKET],
    ['/data/socket', SOCKET],
    ['/var/run', SOCKET],
    ['/run/', SOCKET],
    // The agent's files, what is above them, and what leads to them.
    ['/', AGENT],
    ['/srv', AGENT],
    ['/srv/drover', AGENT],
    ['/srv/drover/data', AGENT],
    ['/srv/drover/data/compose/state.json', AGENT],
    ['/srv/drover/token', AGENT],
    ['/etc', AGENT],
    ['/etc/drover', AGENT],
    ['/data/agent', AGENT],
    ['/data/root', AGENT],
    ['/data/root/srv/drover/token', AGENT],
    ['/home/robot/.docker/config.json', AGENT],
    ['/opt/drover', AGENT],
    ['/opt', AGENT],
    // What gives root in another way.
    ['/etc/shadow', MOUNTS],
    ['/data/etc/passwd', MOUNTS],
    ['/root', MOUNTS],
    ['/root/.ssh', MOUNTS],
    ['/proc', MOUNTS],
    ['/proc/1/root', MOUNTS],
    ['/proc/self/root/data', MOUNTS],
    ['/sys/fs/cgroup', MOUNTS],
    ['/run/containerd/containerd.sock', MOUNTS],
    ['/run/dbus', MOUNTS],
    ['/var/lib/docker/volumes/theirs/_data', MOUNTS],
    ['/mnt/ssd/docker/volumes/theirs/_data', MOUNTS],
    ['/mnt/ssd', MOUNTS],
    ['/var/lib/systemd/coredump', MOUNTS],
    ['/swapfile', MOUNTS],
    ['/var/lib', MOUNTS],
    ['/var/spool/cron/crontabs', MOUNTS],
    ['/home', AGENT],
    ['/home/other', MOUNTS],
    ['/home/other/.ssh', MOUNTS],
    ['/usr/bin', MOUNTS],
    ['/lib/modules', MOUNTS],
    ['/boot', MOUNTS],
    ['/dev', MOUNTS],
    ['/dev/pts', MOUNTS],
    // What nobody can tell of, or the engine reads otherwise.
    ['/closed/x', MOUNTS],
    ['maps', MOUNTS],
    ['/data/maps:/etc', MOUNTS],
  ])('%s is refused by %s', (source, expected) => {
    expect(rule(bind(source))).toBe(expected);
  });

  it.each([
    '/data/maps',
    '/home/other/maps',
    '/tmp/x',
    '/dev/dri',
    '/dev/shm',
    '/mnt/usb',
    '/etcetera',
    '/maps',
    '/var/log/robot',
  ])('%s is allowed', (source) => {
    expect(rule(bind(source))).toBeNull();
  });

  it.each([
    ['/usr/share/x', null],
    ['/lib/modules', null],
    ['/opt/drover', null],
    ['/etc/shadow', MOUNTS],
    ['/srv/drover/token', AGENT],
    ['/run/docker.sock', SOCKET],
    ['/proc', MOUNTS],
  ])('%s that can only be read is refused by %s', (source, expected) => {
    expect(rule(bind(source, { read_only: true }))).toBe(expected);
    expect(rule(bind(source, { read_only: 'true' }))).not.toBeNull();
  });
});

describe('a volume that is a directory of the robot', () => {
  const volume = (driver_opts: Document) =>
    service({}, { volumes: { v: { name: 'drover_v', driver: 'local', driver_opts } } });

  it.each([
    [{ type: 'none', o: 'bind', device: '/etc/ssh' }, MOUNTS],
    [{ type: 'none', o: 'ro,rbind', device: '/srv/drover/data' }, AGENT],
    [{ type: 'tmpfs', o: 'bind', device: '/etc/ssh' }, MOUNTS],
    [{ type: 'nfs', o: 'addr=10.0.0.1, bind', device: '/run/docker.sock' }, SOCKET],
    [{ o: 'bind', device: '/data/socket' }, SOCKET],
    [{ o: 'bind', device: 'relative' }, MOUNTS],
    [{ type: 'ext4', device: '/dev/sda1' }, MOUNTS],
    [{ type: 'overlay', o: 'lowerdir=/etc,upperdir=/data/u,workdir=/data/w', device: 'overlay' }, MOUNTS],
    [{ device: '/dev/sda1' }, MOUNTS],
    [{ Type: 'none', O: 'bind', Device: '/etc/ssh' }, 'unknown_key'],
    [{ type: 'none', o: 'bind', device: '/data/maps' }, null],
    [{ type: 'tmpfs', device: 'tmpfs', o: 'size=1m' }, null],
    [{ type: 'nfs', device: ':/x', o: 'addr=10.0.0.1,rw' }, null],
  ])('%j is refused by %s', (options, expected) => {
    expect(rule(volume(options))).toBe(expected);
  });
});

describe('a file of a config or a secret', () => {
  const text = (file: string) => service({}, { secrets: { s: { name: 'drover_s', file } } });

  it('is a mount that is only read', () => {
    expect(refusals(text('/srv/drover/token'))).toMatchObject([{ rule: AGENT, path: 'secrets.s.file' }]);
    expect(rule(text('/etc/shadow'))).toBe(MOUNTS);
    expect(rule(text('/data/etc/shadow'))).toBe(MOUNTS);
    expect(rule(text('keys/x'))).toBe(MOUNTS);
    expect(rule(text('/data/keys/x'))).toBeNull();
    expect(rule(text('/data/running/x'))).toBe('policy.compose.nested_mounts');
  });
});

describe('rules for mounts', () => {
  it('vouch for a path that the agent can not follow, where it is listed itself', () => {
    const policy = { mounts: { allow: ['/closed/maps', '/closed/logs/*'] } };
    expect(rule(bind('/closed/maps'), policy)).toBeNull();
    expect(rule(bind('/closed/maps/new'), policy)).toBe(MOUNTS);
    expect(rule(bind('/closed/logs/new'), policy)).toBe(MOUNTS);
  });

  it('allow only what is on the list, with all below it, where there is one', () => {
    const policy = { mounts: { allow: ['/data/maps', '/media/usb*'] } };
    expect(rule(bind('/data/maps/2026'), policy)).toBeNull();
    expect(rule(bind('/media/usb1/x'), policy)).toBeNull();
    expect(rule(bind('/data'), policy)).toBe('policy.compose.mounts.allow');
    expect(rule(bind('/data/mapsx'), policy)).toBe('policy.compose.mounts.allow');
    expect(rule(bind('/data/maps/../logs'), policy)).toBe('policy.compose.mounts.allow');
  });

  it('let a link lead only where the list does, unless the link itself is what is listed', () => {
    expect(rule(bind('/maps/a'), { mounts: { allow: ['/maps'] } })).toBeNull();
    expect(rule(bind('/data/etc'), { mounts: { allow: ['/data'] } })).not.toBeNull();
  });

  it('deny by name, also what is above', () => {
    const policy = { mounts: { deny: [{ match: '/data/keys', rule: 'keys' }] } };
    expect(rule(bind('/data/keys/a'), policy)).toBe('keys');
    expect(rule(bind('/data'), policy)).toBe('keys');
    expect(rule(bind('/data/maps'), policy)).toBeNull();
  });

  it('open what is refused by default where they name it, not where they begin with a wildcard', () => {
    expect(rule(bind('/etc/localtime'), { mounts: { allow: ['/etc/localtime'] } })).toBeNull();
    expect(rule(bind('/etc/shadow'), { mounts: { allow: ['/etc/localtime', '/*'] } })).toBe(MOUNTS);
    expect(rule(bind('/etc/shadow'), { mounts: { allow: ['/'] } })).toBe(MOUNTS);
    expect(rule(bind('/sys/class/gpio'), { mounts: { allow: ['/sys/class'] } })).toBeNull();
    expect(rule(bind('/dev'), { mounts: { allow: ['/dev'] } })).toBeNull();
  });

  it('never open the agent’s own files, nor the socket, which has a switch', () => {
    expect(rule(bind('/srv/drover/token'), { mounts: { allow: ['/srv/drover/token'] }, docker_socket: true })).toBe(
      AGENT,
    );
    expect(rule(bind('/'), { mounts: { allow: ['/'] }, docker_socket: true })).toBe(AGENT);
    expect(rule(bind('/run/docker.sock'), { mounts: { allow: ['/run'] } })).toBe(SOCKET);
    expect(rule(bind('/run/docker.sock'), { docker_socket: true })).toBeNull();
    expect(rule(bind('/var/run'), { docker_socket: true })).toBe(MOUNTS);
  });
});

describe('a mount below one that is written to', () => {
  const two = (first: string, second: string, isReadOnly = false) =>
    service({
      volumes: [
        { type: 'bind', source: first, target: '/a', read_only: isReadOnly },
        { type: 'bind', source: second, target: '/b' },
      ],
    });

  it('is refused: what is written to could become a link to anywhere', () => {
    expect(refusals(two('/data', '/data/maps'))).toMatchObject([
      { rule: 'policy.compose.nested_mounts', path: 'services.web.volumes[1]' },
    ]);
    expect(rule(two('/mnt/disk', '/maps/a'))).toBe('policy.compose.nested_mounts');
    expect(rule(two('/data', '/data/maps', true))).toBeNull();
    expect(rule(two('/data/maps', '/data/maps'))).toBeNull();
    expect(rule(two('/data', '/database'))).toBeNull();
    expect(rule(two('/data', '/data/maps'), { nested_mounts: true })).toBeNull();
  });

  it('is refused as well where what runs now writes to it', () => {
    expect(rule(bind('/data/running/link'))).toBe('policy.compose.nested_mounts');
    expect(rule(bind('/data/running'))).toBeNull();
  });
});
