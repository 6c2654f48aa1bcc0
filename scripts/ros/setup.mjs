#!/usr/bin/env node
// Makes a sourced ROS 2 environment, with rclnodejs built against it, from package registries alone.
//
//   node scripts/ros/setup.mjs [jazzy|kilted]           make it (or find it made) and say where it is
//   eval "$(node scripts/ros/setup.mjs --print-env)"    and use it in this shell
//
// Kept in DROVER_CACHE_DIR (~/.cache/drover), one folder per distribution, Node and rclnodejs version; a second run
// finds it there. Where a real ROS 2 is sourced already, that one is used. Needs python3 with venv and libpython, a C++
// toolchain and, the first time, the network; says which package is missing. DROVER_PYTHON chooses another python3.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cached } from './cache.mjs';
import { buildRclnodejs, checkoutRclnodejs, checkToolchain, rclnodejsVersion } from './rclnodejs.mjs';
import { onPath, SetupError } from './run.mjs';
import { DISTROS, findPython, installWheels, wheelsEnvironment, wheelsUsable } from './wheels.mjs';

export { SetupError };

const DEFAULT_DISTRO = 'jazzy';
const nodeMajor = process.versions.node.split('.')[0];
const toStderr = (line) => console.error(`ros: ${line}`);

/**
 * The environment in which ROS 2 programs, rclnodejs and rclpy among them, run.
 *
 * `env` is the whole of it; `added` only what it has beyond process.env. `DROVER_RCLNODEJS` in it is the folder of the
 * built rclnodejs (absent where the checkout's own one serves), `DROVER_TEST_PYTHON` a Python that has rclpy.
 * @param {{ distro?: string, log?: (line: string) => void }} options `distro`: jazzy (default) or kilted; where a ROS 2
 *   is sourced it must be that one or be left out.
 * @returns {Promise<{ env: Record<string, string>, added: Record<string, string>, distro: string, prefix: string, python: string }>}
 * @throws {SetupError} naming what is missing and how to get it.
 */
export async function rosEnvironment({ distro, log = toStderr } = {}) {
  const made = sourced(process.env)
    ? await fromSourced({ distro, log })
    : await fromWheels({ distro: distro ?? DEFAULT_DISTRO, log });
  return { ...made, env: { ...process.env, ...made.added } };
}

function sourced(env) {
  return Boolean(env.AMENT_PREFIX_PATH && env.ROS_DISTRO && onPath('ros2', env));
}

/** The distribution of the ROS 2 that is sourced here, or undefined. */
export function sourcedDistro() {
  return sourced(process.env) ? process.env.ROS_DISTRO : undefined;
}

/** A real ROS 2 (or the environment printed by this script): only rclnodejs may be missing. */
async function fromSourced({ distro, log }) {
  const { AMENT_PREFIX_PATH, ROS_DISTRO, DROVER_RCLNODEJS, DROVER_TEST_PYTHON } = process.env;
  if (distro !== undefined && distro !== ROS_DISTRO) {
    throw new SetupError(
      `ROS 2 ${ROS_DISTRO} is sourced here and ${distro} was asked for: run this in a shell without it`,
    );
  }
  const python = DROVER_TEST_PYTHON || onPath('python3') || 'python3';
  const found = { distro: ROS_DISTRO, prefix: AMENT_PREFIX_PATH, python };
  if (DROVER_RCLNODEJS && existsSync(DROVER_RCLNODEJS)) return { ...found, added: { DROVER_TEST_PYTHON: python } };
  if (await checkoutRclnodejs(process.env)) return { ...found, added: { DROVER_TEST_PYTHON: python } };
  // One for each installation, whatever workspaces are sourced on top of it.
  const which = createHash('sha256').update(onPath('ros2')).digest('hex').slice(0, 12);
  const folder = await cached({
    key: `${ROS_DISTRO}-sourced-${which}-node${nodeMajor}-rclnodejs${rclnodejsVersion()}`,
    log,
    make: (root) =>
      buildRclnodejs({ folder: join(root, 'rclnodejs'), env: process.env, logFile: join(root, 'setup.log'), log }),
  });
  const rclnodejs = join(folder, 'rclnodejs/node_modules/rclnodejs');
  return { ...found, added: { DROVER_RCLNODEJS: rclnodejs, DROVER_TEST_PYTHON: python } };
}

async function fromWheels({ distro, log }) {
  const wheels = DISTROS[distro];
  if (wheels === undefined) {
    throw new SetupError(`no ROS 2 "${distro}" here: choose one of ${Object.keys(DISTROS).join(', ')}`);
  }
  if (process.platform !== 'linux') {
    throw new SetupError('the ROS wheels are for Linux: source a ROS 2 installation instead');
  }
  const folder = await cached({
    key: `${distro}-${wheels.version}-node${nodeMajor}-rclnodejs${rclnodejsVersion()}`,
    isWhole: (root) => wheelsUsable(join(root, 'prefix')) && existsSync(libpythonOf(root)),
    log,
    make: async (root) => {
      const logFile = join(root, 'setup.log');
      const prefix = join(root, 'prefix');
      const python = await findPython();
      checkToolchain(process.env);
      await installWheels({ distro, prefix, python, logFile, log });
      writeFileSync(join(root, 'libpython'), python.libpython);
      const added = wheelsEnvironment({ distro, prefix, libpython: python.libpython });
      await buildRclnodejs({ folder: join(root, 'rclnodejs'), env: { ...process.env, ...added }, logFile, log });
    },
  });
  const prefix = join(folder, 'prefix');
  const python = join(prefix, 'bin', 'python');
  const added = {
    ...wheelsEnvironment({ distro, prefix, libpython: libpythonOf(folder) }),
    DROVER_RCLNODEJS: join(folder, 'rclnodejs/node_modules/rclnodejs'),
    DROVER_TEST_PYTHON: python,
  };
  return { added, distro, prefix, python };
}

function libpythonOf(folder) {
  return readFileSync(join(folder, 'libpython'), 'utf8');
}

async function main(args) {
  const printEnv = args.includes('--print-env');
  const [distro, ...rest] = args.filter((arg) => arg !== '--print-env');
  if (rest.length > 0 || distro?.startsWith('-')) {
    throw new SetupError(`usage: setup.mjs [${Object.keys(DISTROS).join('|')}] [--print-env]`);
  }
  const ros = await rosEnvironment({ distro });
  if (printEnv) {
    for (const [name, value] of Object.entries(ros.added)) {
      console.log(`export ${name}='${value.replaceAll("'", "'\\''")}'`);
    }
    return;
  }
  console.log(`ROS 2 ${ros.distro}: ${ros.prefix}`);
  console.log(`rclnodejs: ${ros.env.DROVER_RCLNODEJS ?? "the checkout's own"}`);
  console.log('to use it in this shell: eval "$(node scripts/ros/setup.mjs --print-env)"');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main(process.argv.slice(2)).catch((error) => {
    toStderr(error instanceof SetupError ? error.message : error.stack);
    process.exitCode = 1;
  });
}
