import { type PathPattern, pathPattern } from './path-pattern.js';

/** What is refused, or harmless, without a word in agent.yaml. Each list says what it keeps a document from. */

export interface RefusedPath {
  readonly pattern: PathPattern;
  /** Reading it does no harm. */
  readonly mayBeRead: boolean;
  /** Why, to go behind `the path`. */
  readonly why: string;
  /** Only the directory itself, and what is above it. */
  readonly onlyItself: boolean;
}

export function refused(paths: readonly string[], why: string, options: Partial<RefusedPath> = {}): RefusedPath[] {
  return paths.map((path) => ({
    pattern: pathPattern(path),
    mayBeRead: false,
    onlyItself: false,
    ...options,
    why,
  }));
}

export const ENGINE_DIRECTORY = "holds the engine's containers and volumes, of others too";

/** Directories through which a container gets hold of the robot itself. */
export const REFUSED_MOUNTS: readonly RefusedPath[] = [
  ...refused(['/etc', '/root'], "holds the robot's own configuration and secrets"),
  ...refused(['/proc', '/sys'], "is the kernel's own door"),
  // Sockets: docker, containerd, systemd and D-Bus do what they are told by root, and a container's root is root to them.
  ...refused(['/run', '/var/run'], "holds the sockets of the robot's services"),
  ...refused(['/var/lib/docker', '/var/lib/containerd', '/var/lib/containers', '/var/snap'], ENGINE_DIRECTORY),
  ...refused(['/var/lib/systemd', '/var/crash', '/swapfile', '/swap.img'], 'may hold the memory of programs'),
  ...refused(['/var/lib/private', '/var/backups'], "holds what the robot's services and users keep to themselves"),
  ...refused(['/var/spool/cron'], "holds the robot's cron jobs"),
  ...refused(['/home/*/.*'], 'holds keys and start files of a user', {}),
  ...refused(['/dev/pts'], "holds the robot's terminals"),
  ...refused(['/dev'], 'holds every device; mount what is below it, or use devices', { onlyItself: true }),
  ...refused(
    ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/usr', '/boot', '/opt/ros'],
    'holds programs that the robot runs; mount it with read_only: true',
    { mayBeRead: true },
  ),
];

/** Devices that are the robot's disks and memory, or lead to them. Block devices of other names are refused by their kind. */
export const REFUSED_DEVICES: readonly PathPattern[] = [
  ...['mem', 'kmem', 'port', 'kcore', 'core', 'snapshot', 'nvram', 'initctl', 'uio*', 'cpu', 'mei*', 'ipmi*', 'pts'],
  ...[
    'sd*',
    'hd*',
    'vd*',
    'xvd*',
    'nvme*',
    'mmcblk*',
    'ng*',
    'md*',
    'dm-*',
    'mapper',
    'loop*',
    'disk',
    'block',
    'zd*',
    'fd0',
  ],
  ...['nbd*', 'rbd*', 'bcache*', 'ram*', 'zram*', 'sr*', 'sg*', 'bsg', 'raw', 'mtd*', 'ubi*', 'vfio', 'btrfs-control'],
].map((name) => pathPattern(`/dev/${name}`));

/** Major numbers of character devices that are memory, or disks in another form. */
export const REFUSED_DEVICE_MAJORS = new Set([1, 21, 90, 162]);

/** Those that the engine gives every container, and few that reach no further. */
export const HARMLESS_CAPABILITIES = new Set([
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'NET_RAW'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
  // Real-time robots: scheduling and memory that is not swapped out.
  ...['SYS_NICE', 'IPC_LOCK'],
]);

export const HARMLESS_SECURITY_OPT = /^(no-new-privileges([:=]true)?|apparmor[:=]docker-default|seccomp[:=]builtin)$/;

/** File systems of the local volume driver that are no part of the robot's disk. */
export const HARMLESS_VOLUME_TYPES = new Set(['tmpfs', 'nfs', 'nfs4', 'cifs']);

export const USUAL_DRIVERS = {
  volume: ['', 'local'],
  network: ['', 'default', 'bridge', 'host', 'none', 'null', 'macvlan', 'ipvlan', 'overlay'],
  logging: ['', 'json-file', 'local', 'journald', 'none', 'syslog', 'gelf', 'fluentd'],
  runtime: ['', 'runc', 'io.containerd.runc.v2', 'nvidia'],
} as const;
