import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type Docker from 'dockerode';
import type { Config } from '../../config.js';
import type { Surroundings } from '../../policy/compose.js';
import { isWithin } from '../../policy/path-pattern.js';
import { PROJECT_LABEL } from '../docker/container.js';
import type { Engine } from '../docker/engine.js';
import { type OwnMount, realPath, realPathOutside } from './real-path.js';

const SOCKETS = [
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/containerd/containerd.sock',
  '/run/podman/podman.sock',
];

/** What of the settings tells which files are the agent's. */
export type AgentFiles = Pick<Config, 'dataDir' | 'token' | 'configFile' | 'compose'>;

/**
 * Looks at what a document is judged against: the agent's files, and what the engine has that is not of this project.
 * @throws EngineUnavailableError | EngineRefusedError
 */
export async function lookAround(files: AgentFiles, engine: Engine): Promise<Surroundings> {
  const { project, env } = files.compose;
  const secrets = secretsOf(files);
  const host = env.DOCKER_HOST ?? '';
  const { mounts, ...found } = await engine.look(async (docker) => ({
    ...(await foreignOf(docker, project)),
    mounts: await ownMounts(docker),
    engineDirectories: directoriesOf(await docker.info()),
  }));
  return {
    ...found,
    secrets: [...secrets, ...outsideOf(mounts ?? [], secrets)],
    programs: [programDirectory()],
    engineSockets: [...SOCKETS, ...(host.startsWith('unix://') ? [host.slice('unix://'.length)] : [])],
    realPath: mounts === null ? realPath : (path) => realPathOutside(path, mounts),
    isBlockDevice,
  };
}

function secretsOf({ dataDir, token, configFile, compose }: AgentFiles): string[] {
  const { env } = compose;
  // What `docker login` has stored.
  const docker = env.DOCKER_CONFIG || (env.HOME === undefined ? '' : join(env.HOME, '.docker'));
  const paths = [dataDir, configFile, 'file' in token ? token.file : '', docker, env.DOCKER_CERT_PATH ?? ''];
  return paths.filter((path) => path !== '').map((path) => resolve(path));
}

/** Its data is often on a larger disk than /var is. */
function directoriesOf({ DockerRootDir: root }: { readonly DockerRootDir?: unknown }): string[] {
  return typeof root === 'string' && root.startsWith('/') ? [root] : [];
}

/** Where this program and all it loads are. */
function programDirectory(): string {
  const parts = import.meta.dirname.split('/');
  const modules = parts.indexOf('node_modules');
  // packages/agent/dist/compose/document in a checkout and in the image.
  return modules > 0 ? parts.slice(0, modules).join('/') : resolve(import.meta.dirname, '../../../../..');
}

async function foreignOf(docker: Docker, project: string) {
  const isOurs = (labels: unknown) =>
    typeof labels === 'object' && labels !== null && Reflect.get(labels, PROJECT_LABEL) === project;
  const filters = { label: [`${PROJECT_LABEL}=${project}`] };
  const [{ Volumes: listed }, networks, containers] = await Promise.all([
    docker.listVolumes(),
    docker.listNetworks(),
    docker.listContainers({ all: true, filters }),
  ]);
  const volumes = listed ?? [];
  const bound = volumes.filter(({ Labels, Options }) => isOurs(Labels) && /\br?bind\b/.test(Options?.o ?? ''));
  const mounts = containers.flatMap(({ Mounts }) => Mounts.filter(({ Type, RW }) => Type === 'bind' && RW));
  return {
    foreignVolumes: new Set(volumes.filter(({ Labels }) => !isOurs(Labels)).map(({ Name }) => Name)),
    foreignNetworks: new Set(networks.filter(({ Labels }) => !isOurs(Labels)).map(({ Name }) => Name)),
    writtenMounts: [...mounts.map(({ Source }) => Source), ...bound.flatMap(({ Options }) => Options?.device ?? [])],
  };
}

/** Where the agent runs in a container itself: what it has of the machine; null outside of any. */
async function ownMounts(docker: Docker): Promise<readonly OwnMount[] | null> {
  const id = ownContainerId();
  if (id === null) return null;
  const { Mounts: mounts } = await docker.getContainer(id).inspect();
  return mounts.map(({ Source, Destination }) => ({ source: Source, destination: Destination }));
}

/** The agent's files are elsewhere for the engine then: the sources of the mounts that they are on. */
function outsideOf(mounts: readonly OwnMount[], secrets: readonly string[]): string[] {
  return mounts.flatMap(({ source, destination }) =>
    secrets.some((path) => isWithin(path, destination) || isWithin(destination, path)) ? [source] : [],
  );
}

/** By the files that the engine mounts into every container of its own; null outside of any. */
function ownContainerId(): string | null {
  try {
    return (
      /\/containers\/([0-9a-f]{64})\/(hostname|hosts|resolv\.conf) /.exec(
        readFileSync('/proc/self/mountinfo', 'utf8'),
      )?.[1] ?? null
    );
  } catch {
    return null;
  }
}

function isBlockDevice(path: string): boolean {
  try {
    return statSync(path).isBlockDevice();
  } catch {
    return false;
  }
}
