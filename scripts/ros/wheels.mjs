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

/**
 * The Python to make the venv with, and its shared library: the wheels' librcl_lifecycle links ROS's Python
 * typesupport, so a process that is not Python has to preload it.
 * @throws SetupError naming the Debian package that is missing.
 */
export async function findPython() {
  const python = process.env.DROVER_PYTHON || onPath('python3');
  if (python === undefined) throw new SetupError('python3 is missing: apt-get install python3 python3-venv');
  const probe = JSON.parse(await run(python, ['-c', PYTHON_PROBE], { what: `looking at ${python}` }));
  if (probe.no_venv) {
    throw new SetupError(`${python} (${probe.version}) has no venv module: apt-get install python3-venv`);
  }
  if (probe.libpython === null) {
    throw new SetupError(
      `no shared library libpython${probe.version}.so for ${python}: apt-get install libpython${probe.version}, ` +
        'or set DROVER_PYTHON to a Python that has one',
    );
  }
  return probe;
}

/** Makes the venv and installs the wheels of `distro` in it. @throws SetupError */
export async function installWheels({ distro, prefix, python, logFile, log }) {
  log(`installing the ${distro} wheels into ${prefix}`);
  await run(python.executable, ['-m', 'venv', prefix], { what: 'making the venv', logFile });
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--quiet', ...DISTROS[distro].wheels];
  try {
    await run(join(prefix, 'bin', 'python'), pip, { what: `installing ROS 2 ${distro}`, logFile });
  } catch (error) {
    throw explainPip(error, python);
  }
  // rclnodejs finds ROS by looking for ros2 on PATH; the wheels have none, and it is only looked up, never run.
  const ros2 = join(prefix, 'bin', 'ros2');
  writeFileSync(ros2, '#!/bin/sh\necho "ros2 is not among the ROS wheels" >&2\nexit 1\n');
  chmodSync(ros2, 0o755);
}

function explainPip(error, python) {
  const output = String(error.cause ?? '');
  if (/No matching distribution|Could not find a version/.test(output) && !/connection|retrying/i.test(output)) {
    return new SetupError(
      `${error.message}\n\nThe ROS wheels are built for some Pythons only (3.10 to 3.13 were seen, x86_64); this one is ` +
        `${python.version}. Set DROVER_PYTHON to one of those.`,
    );
  }
  if (/connection|retrying|name resolution|timed out/i.test(output)) {
    return new SetupError(
      `${error.message}\n\nThe Python package index could not be reached: the set-up needs the network once.`,
    );
  }
  return error;
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
