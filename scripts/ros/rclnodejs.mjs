// rclnodejs built against a sourced ROS 2, outside of the checkout: an `npm ci` without ROS leaves it out of there.
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onPath, run, SetupError, withoutNpmRun } from './run.mjs';

const checkout = new URL('../../', import.meta.url).pathname;

/** The version the agent asks for. */
export function rclnodejsVersion() {
  const manifest = JSON.parse(readFileSync(join(checkout, 'packages/agent/package.json'), 'utf8'));
  return manifest.optionalDependencies.rclnodejs;
}

/** @throws SetupError where what node-gyp needs is not there. */
export function checkToolchain(env) {
  const compiler = env.CXX || 'g++';
  for (const tool of [compiler, 'make']) {
    if (!existsSync(tool) && onPath(tool, env) === undefined) {
      throw new SetupError(`${tool} is missing (rclnodejs is compiled here): apt-get install build-essential`);
    }
  }
}

/** Builds it in `folder` for the ROS 2 of `env`. @returns the package's path. @throws SetupError */
export async function buildRclnodejs({ folder, env, logFile, log }) {
  const version = rclnodejsVersion();
  checkToolchain(env);
  log(`building rclnodejs ${version} for ${env.ROS_DISTRO} (about a minute)`);
  mkdirSync(folder, { recursive: true });
  // npm runs install scripts only of the packages that are named here.
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ private: true, allowScripts: { rclnodejs: true, 'es5-ext': false } }, null, 2)}\n`,
  );
  const npm = ['install', '--no-fund', '--no-audit', '--foreground-scripts', '--save-exact', `rclnodejs@${version}`];
  await run('npm', npm, {
    cwd: folder,
    // Its build fetches rimraf through npx, which asks first unless told yes.
    env: { ...withoutNpmRun(env), ...nodeHeaders(), NPM_CONFIG_YES: 'true' },
    what: `building rclnodejs ${version}`,
    logFile,
  });
  const path = join(folder, 'node_modules', 'rclnodejs');
  await checkLoads(path, env);
  return path;
}

/** Node's headers where they came with it: node-gyp would fetch them from Node's own site, which not everybody reaches. */
function nodeHeaders() {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  return existsSync(join(prefix, 'include/node/node_version.h')) ? { npm_config_nodedir: prefix } : {};
}

/** The checkout's own rclnodejs where it is there and loads in `env`, else undefined. */
export async function checkoutRclnodejs(env) {
  const path = join(checkout, 'node_modules', 'rclnodejs');
  if (!existsSync(path)) return undefined;
  try {
    await checkLoads(path, env);
    return path;
  } catch {
    return undefined;
  }
}

/**
 * @throws SetupError where it does not load. Tried in a process with nothing on PATH: an rclnodejs that can't load its
 * addon starts `npm run rebuild`, which deletes what is there first.
 */
async function checkLoads(path, env) {
  if (!existsSync(join(path, 'build', 'Release', 'rclnodejs.node')) && !hasPrebuilt(path, env)) {
    throw new SetupError(`${path} has no built addon`);
  }
  await run(process.execPath, ['-e', `require(${JSON.stringify(path)})`], {
    env: { ...env, PATH: '/nonexistent' },
    what: `loading ${path}`,
  });
}

function hasPrebuilt(path, env) {
  const folder = join(path, 'prebuilds', `${process.platform}-${process.arch}`);
  return existsSync(folder) && readdirSync(folder).some((file) => file.startsWith(`${env.ROS_DISTRO}-`));
}
