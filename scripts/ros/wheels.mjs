// ROS 2 from Python wheels: a venv that is a ROS prefix, with no ROS installation on the machine.
//
// Each wheel puts its whole ament tree (lib, include, share) under the venv. Absent from the wheels: ros2cli,
// example_interfaces, rclcpp; Fast DDS is the only RMW.
import { chmodSync, existsSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { onPath, run, SetupError } from './run.mjs';

/** What is installed for each distribution; `version` is rclpy's and names the cache folder. */
export const DISTROS = {
  jazzy: {
    version: '7.1.6',
    wheels: ['ros-rclpy[fastrtps]==7.1.6', 'ros-common-interfaces==5.3.6', 'ros-test-msgs==2.0.3'],
  },
  kilted: {
    version: '9.1.2',
    wheels: ['ros-rclpy[fastrtps]==9.1.2', 'ros-common-interfaces==5.5.1', 'ros-test-msgs==2.3.0'],
  },
};

const PYTHON_PROBE = `
import glob, json, os, sys, sysconfig
v = sysconfig.get_config_var
def missing(name):
    try: __import__(name)
    except ImportError: return True
version = '%d.%d' % sys.version_info[:2]
folders = [v('LIBDIR') or '', os.path.join(v('LIBDIR') or '', v('MULTIARCH') or ''), '/usr/lib/' + (v('MULTIARCH') or ''), '/usr/local/lib', '/usr/lib64']
found = [f for d in folders for f in sorted(glob.glob(os.path.join(d, 'libpython%s.so*' % version)), reverse=True)]
print(json.dumps({'executable': sys.executable, 'version': version, 'no_venv': bool(missing('venv') or missing('ensurepip')), 'libpython': found[0] if found else None}))
`;

/** Pythons for which there are wheels (x86_64). */
const SUPPORTED_PYTHONS = ['3.10', '3.11', '3.12', '3.13'];

/**
 * The Python to make the venv with, and its shared library: the wheels' librcl_lifecycle links ROS's Python
 * typesupport, so a process that is not Python has to preload it.
 * @throws SetupError naming the Debian package that is missing.
 */
export async function findPython() {
  const python = await choosePython();
  if (python.no_venv) {
    throw new SetupError(`${python.executable} (${python.version}) has no venv module: apt-get install python3-venv`);
  }
  if (python.libpython === null) {
    throw new SetupError(
      `no shared library libpython${python.version}.so for ${python.executable}: ` +
        `apt-get install libpython${python.version}, or set DROVER_PYTHON to a Python that has one`,
    );
  }
  return python;
}

/** DROVER_PYTHON, else the first on PATH that there are wheels for, `python3` before others. */
async function choosePython() {
  const names = process.env.DROVER_PYTHON
    ? [process.env.DROVER_PYTHON]
    : ['python3', ...SUPPORTED_PYTHONS.map((version) => `python${version}`).reverse()];
  const seen = [];
  for (const name of names) {
    const path = name.includes('/') ? name : onPath(name);
    if (path === undefined) continue;
    const python = await probe(path);
    if (SUPPORTED_PYTHONS.includes(python.version)) return python;
    seen.push(`${path} is ${python.version}`);
  }
  if (seen.length === 0) throw new SetupError('python3 is missing: apt-get install python3 python3-venv');
  throw new SetupError(
    `there are ROS wheels for Python ${SUPPORTED_PYTHONS.join(', ')} only, and ${seen.join(', ')}: ` +
      'install one of those and set DROVER_PYTHON to it',
  );
}

async function probe(path) {
  try {
    return JSON.parse(await run(path, ['-c', PYTHON_PROBE], { what: `looking at ${path}` }));
  } catch {
    // As pyenv's stand-ins for versions that are not chosen.
    return { version: 'not one that runs' };
  }
}

/** Makes the venv and installs the wheels of `distro` in it. @throws SetupError */
export async function installWheels({ distro, prefix, python, logFile, log }) {
  log(`installing the ${distro} wheels into ${prefix}`);
  await run(python.executable, ['-m', 'venv', prefix], { what: 'making the venv', logFile });
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--quiet', ...DISTROS[distro].wheels];
  try {
    await run(join(prefix, 'bin', 'python'), pip, { what: `installing ROS 2 ${distro}`, logFile });
  } catch (error) {
    throw new SetupError(
      `${error.message}\n\nIs the Python package index within reach? The set-up needs the network once, and an x86_64 machine.`,
      { cause: error },
    );
  }
  // rclnodejs finds ROS by looking for ros2 on PATH; the wheels have none, and it is only looked up, never run.
  const ros2 = join(prefix, 'bin', 'ros2');
  writeFileSync(ros2, '#!/bin/sh\necho "ros2 is not among the ROS wheels" >&2\nexit 1\n');
  chmodSync(ros2, 0o755);
}

/** Whether the venv's interpreter and libpython still exist: it points into the machine's Python, which may have gone. */
export function wheelsUsable(prefix) {
  try {
    realpathSync(join(prefix, 'bin', 'python'));
    return true;
  } catch {
    return false;
  }
}

/** What `source setup.bash` would set for the prefix, on top of `env`. */
export function wheelsEnvironment({ distro, prefix, libpython, env = process.env }) {
  const sitePackages = readdirSync(join(prefix, 'lib'))
    .filter((name) => name.startsWith('python3'))
    .map((name) => join(prefix, 'lib', name, 'site-packages'))
    .find((folder) => existsSync(folder));
  const bundled = readdirSync(sitePackages)
    .filter((name) => /^ros_.*\.libs$/.test(name))
    .map((name) => join(sitePackages, name));
  const before = (name, ...paths) => [...paths, ...(env[name] ? [env[name]] : [])].join(delimiter);
  return {
    AMENT_PREFIX_PATH: prefix,
    CMAKE_PREFIX_PATH: prefix,
    PATH: before('PATH', join(prefix, 'bin')),
    LD_LIBRARY_PATH: before('LD_LIBRARY_PATH', join(prefix, 'lib'), ...bundled),
    LD_PRELOAD: libpython,
    ROS_DISTRO: distro,
    ROS_VERSION: '2',
    ROS_PYTHON_VERSION: '3',
    // The wheels' start-up hook re-executes Python to set LD_LIBRARY_PATH, which is set here already.
    _ROS_WHEELS_BOOTSTRAP_COMPLETE: '1',
  };
}
