// Builds the project's images from docker/ on stand-ins of their base images, for machines that reach no image registry.
//
//   node scripts/images/build.mjs [jazzy|kilted]     drover-local/cloud and drover-local/agent, and their sizes
//
// Needs a Docker Engine (DOCKER_HOST), its CLI with the compose plugin, root and debootstrap. The stand-ins are kept in
// DROVER_CACHE_DIR (~/.cache/drover) and in the engine; a second run builds what has changed.
// `docker compose -f docker/compose.yaml build` builds on the official images instead.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cacheRoot } from '../ros/cache.mjs';
import { run, SetupError } from '../ros/run.mjs';
import { DISTROS } from '../ros/wheels.mjs';
import { nodeStandIns, rosStandIns } from './stand-ins.mjs';

/** What the images are called; docker/compose.yaml takes them by DROVER_CLOUD_IMAGE and DROVER_AGENT_IMAGE. */
export const IMAGES = { cloud: 'drover-local/cloud', agent: 'drover-local/agent' };

const checkout = new URL('../../', import.meta.url).pathname;

/** @throws {SetupError} naming what is missing or what failed. */
export async function buildImages({ distro = 'jazzy', log }) {
  const { node, nodeSlim } = await nodeStandIns({ log });
  const args = { NODE_BUILD_IMAGE: node, NODE_IMAGE: nodeSlim };
  // Side by side: one mostly compiles, the other mostly writes to the disk.
  const [ros] = await Promise.all([rosStandIns({ distro, log }), build('cloud', args, log)]);
  // After the cloud's: both begin with the same stages, which the second then finds made.
  await build(
    'agent',
    {
      ...args,
      ROS_DISTRO: distro,
      ROS_BUILD_IMAGE: ros.rosBase,
      ROS_IMAGE: ros.rosCore,
      DOCKER_CLI_IMAGE: ros.dockerCli,
      // The stand-in has no apt repository of ROS; it has test_msgs for example_interfaces.
      ROS_PACKAGES: '',
    },
    log,
  );
}

async function build(name, args, log) {
  log(`building ${IMAGES[name]}`);
  const root = cacheRoot(process.env, 'images');
  mkdirSync(root, { recursive: true });
  const logFile = join(root, `build-${name}.log`);
  rmSync(logFile, { force: true });
  const buildArgs = Object.entries(args).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
  // The host's network, which has the way to the package registries; the classic builder, which every engine has.
  const options = ['--network', 'host', '--force-rm', '--file', `docker/${name}.Dockerfile`, '--tag', IMAGES[name]];
  await run('docker', ['build', ...options, ...buildArgs, '.'], {
    cwd: checkout,
    env: { ...process.env, DOCKER_BUILDKIT: '0' },
    what: `building ${IMAGES[name]}`,
    logFile,
  });
}

/** @returns a line an image: its size, and that of the base it is on. */
export async function sizes() {
  const names = ['drover-stand-in/*', 'drover-local/*'].flatMap((name) => ['--filter', `reference=${name}`]);
  return run('docker', ['images', '--format', '{{.Repository}}:{{.Tag}}\t{{.Size}}', ...names], {
    what: 'listing the images',
  });
}

async function main([distro = 'jazzy', ...rest]) {
  if (rest.length > 0 || DISTROS[distro] === undefined) {
    throw new SetupError(`usage: build.mjs [${Object.keys(DISTROS).join('|')}]`);
  }
  // Where Debian has debootstrap and chroot, which a user's PATH may lack.
  process.env.PATH = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`;
  const begun = Date.now();
  const log = (line) => console.log(`images: ${String(Math.round((Date.now() - begun) / 1000)).padStart(3)} s ${line}`);
  await buildImages({ distro, log });
  log('built');
  console.log(await sizes());
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(`images: ${error instanceof SetupError ? error.message : error.stack}`);
    process.exitCode = 1;
  });
}
