import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Rclnodejs } from './api.js';

/** Why there is no rclnodejs to use, with what to do about it. */
export class RclnodejsUnavailableError extends Error {
  override readonly name = 'RclnodejsUnavailableError';
  constructor(
    readonly code: 'not_sourced' | 'wrong_environment' | 'not_installed' | 'does_not_load',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whether a ROS 2 is sourced in `env`: rclnodejs must not even be required where none is. */
export function rosIsSourced(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env.AMENT_PREFIX_PATH);
}

/**
 * Loads rclnodejs from `DROVER_RCLNODEJS` (a folder), else from where it is installed.
 *
 * An rclnodejs that can't load its addon deletes it and builds it anew, for minutes, in this process: so whatever can
 * be wrong is found before it is required.
 * @throws RclnodejsUnavailableError
 */
export function loadRclnodejs(env: NodeJS.ProcessEnv): Rclnodejs {
  if (!rosIsSourced(env)) {
    throw new RclnodejsUnavailableError('not_sourced', 'no ROS 2 is sourced: source its setup.bash first');
  }
  checkRmw(env);
  checkDomainId(env);
  const require = createRequire(import.meta.url);
  const folder = env.DROVER_RCLNODEJS || installedFolder(require);
  checkAddon(require, folder, env);
  const rcl = require(folder) as Rclnodejs;
  rcl.removeSignalHandlers();
  return rcl;
}

/**
 * ROS ends the whole process where the middleware that is asked for is not there.
 * @throws RclnodejsUnavailableError
 */
function checkRmw(env: NodeJS.ProcessEnv): void {
  const rmw = env.RMW_IMPLEMENTATION;
  if (!rmw) return;
  const prefixes = (env.AMENT_PREFIX_PATH ?? '').split(':');
  // Either is enough: a distribution's own packages may keep the library in a folder of the architecture.
  const traces = [
    ...prefixes.map((prefix) => join(prefix, 'lib', `lib${rmw}.so`)),
    ...prefixes.map((prefix) => join(prefix, 'share/ament_index/resource_index/packages', rmw)),
    ...(env.LD_LIBRARY_PATH ?? '').split(':').map((place) => join(place, `lib${rmw}.so`)),
  ];
  if (traces.some(existsSync)) return;
  throw new RclnodejsUnavailableError(
    'wrong_environment',
    `RMW_IMPLEMENTATION is ${rmw}, which this ROS 2 does not have: install it, or unset the variable`,
  );
}

/** What DDS has ports for. */
const DOMAIN_ID_MAX = 232;

/** ROS takes a domain that it has no ports for, and then fails at everything. @throws RclnodejsUnavailableError */
function checkDomainId(env: NodeJS.ProcessEnv): void {
  const id = env.ROS_DOMAIN_ID;
  if (!id || (/^\d+$/.test(id) && Number(id) <= DOMAIN_ID_MAX)) return;
  throw new RclnodejsUnavailableError(
    'wrong_environment',
    `ROS_DOMAIN_ID is ${JSON.stringify(id)}: use a whole number from 0 to ${DOMAIN_ID_MAX}, or unset it`,
  );
}

function installedFolder(require: NodeJS.Require): string {
  try {
    return dirname(require.resolve('rclnodejs/package.json'));
  } catch (cause) {
    throw new RclnodejsUnavailableError(
      'not_installed',
      'rclnodejs is not installed: run "npm ci" where ROS 2 is sourced (without it, it is left out)',
      { cause },
    );
  }
}

/** @throws RclnodejsUnavailableError where requiring rclnodejs would set off its build. */
function checkAddon(require: NodeJS.Require, folder: string, env: NodeJS.ProcessEnv): void {
  const addon = join(folder, 'build', 'Release', 'rclnodejs.node');
  if (!existsSync(addon)) {
    if (hasPrebuilt(folder, env)) return;
    throw new RclnodejsUnavailableError(
      'not_installed',
      `${folder} has no built addon for this ROS 2: run "npm rebuild rclnodejs" where ROS 2 is sourced`,
    );
  }
  try {
    require(realpathSync(addon));
  } catch (cause) {
    throw new RclnodejsUnavailableError(
      'does_not_load',
      `rclnodejs does not load (${cause instanceof Error ? cause.message : cause}): is it built for this ROS 2 and this Node?`,
      { cause },
    );
  }
}

/** rclnodejs ships addons for some distributions of ROS on Ubuntu, which it picks itself. */
function hasPrebuilt(folder: string, env: NodeJS.ProcessEnv): boolean {
  const prebuilds = join(folder, 'prebuilds', `${process.platform}-${process.arch}`);
  return existsSync(prebuilds) && readdirSync(prebuilds).some((file) => file.startsWith(`${env.ROS_DISTRO}-`));
}
