import { expect } from 'vitest';
import { checkPolicy, type Refusal, type Surroundings } from './compose.js';
import { readPolicy } from './policy-file.js';

/** A robot with an agent in /srv/drover and links that lead where they should not. */
export const SURROUNDINGS: Surroundings = {
  secrets: ['/srv/drover/data', '/srv/drover/token', '/etc/drover/agent.yaml', '/home/robot/.docker'],
  programs: ['/opt/drover'],
  engineSockets: ['/var/run/docker.sock', '/srv/engine/docker.sock'],
  engineDirectories: ['/mnt/ssd/docker'],
  foreignVolumes: new Set(['theirs']),
  foreignNetworks: new Set(['their_net', 'bridge', 'host', 'none']),
  writtenMounts: ['/data/running'],
  realPath: (path) => {
    if (path.startsWith('/closed')) return null;
    for (const [link, target] of Object.entries(LINKS)) {
      if (path === link || path.startsWith(`${link}/`)) return target + path.slice(link.length);
    }
    return path;
  },
  isBlockDevice: (path) => path === '/dev/rootdisk',
};

const LINKS: Readonly<Record<string, string>> = {
  '/var/run': '/run',
  '/data/socket': '/run/docker.sock',
  '/data/root': '',
  '/data/etc': '/etc',
  '/data/agent': '/srv/drover/data',
  '/dev/lidar': '/dev/ttyUSB0',
  '/dev/harmless': '/dev/sda1',
  '/maps': '/mnt/disk/maps',
};

export type Document = Readonly<Record<string, unknown>>;

/** What is refused of a document in its normal form, by a policy as agent.yaml has it under `policy.compose`. */
export function refusals(document: Document, compose: object = {}, around: Partial<Surroundings> = {}): Refusal[] {
  const read = readPolicy({ compose });
  expect(read.problems).toEqual([]);
  return checkPolicy(document, read.compose, { ...SURROUNDINGS, ...around });
}

/** A document of one service. */
export function service(keys: Document, top: Document = {}): Document {
  return { name: 'drover', services: { web: { image: 'box:1', networks: { default: null }, ...keys } }, ...top };
}

export function bind(source: string, more: Document = {}): Document {
  return service({ volumes: [{ type: 'bind', source, target: '/x', bind: { create_host_path: true }, ...more }] });
}
