// Stand-ins for the base images of docker/, made from package registries alone: for machines that reach no image registry.
//
// Each has what the project's Dockerfiles use of the image it stands in for, at the same paths: Debian 12 with Node and npm
// in /usr/local, ROS 2 (its Python wheels) in /opt/ros/DISTRO with setup.sh, the docker CLI with its compose plugin. They
// are for trying the Dockerfiles, not for robots. Needs root, debootstrap and, the first time, the network.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { cached, cacheRoot } from '../ros/cache.mjs';
import { onPath, run, SetupError } from '../ros/run.mjs';
import { DISTROS, wheelsEnvironment } from '../ros/wheels.mjs';

const SUITE = 'bookworm';
/** Raised when what is made here changes: the cache holds one of each. */
const RECIPE = 2;
/** What ROS's wheels run on, and what compiles. */
const PYTHON = ['python3', 'python3-venv', 'libpython3.11'];
const TOOLCHAIN = ['g++', 'make'];
/** As the official images have it: nothing to read, and no flush after each file, as a tree that a crash cut short is made anew. */
const DPKG = ['force-unsafe-io', ...['doc', 'man', 'locale'].map((name) => `path-exclude=/usr/share/${name}/*`)];
const CERTIFICATES = 'etc/ssl/certs/ca-certificates.crt';
const PREBUILDS = '/opt/prebuilds';
const checkout = new URL('../../', import.meta.url).pathname;
const nodeVersion = process.versions.node;
const PLUGIN_FOLDERS = ['/usr/local/lib/docker', '/usr/local/libexec/docker', '/usr/lib/docker', '/usr/libexec/docker'];

/**
 * The stand-ins of Node's images, in the engine at DOCKER_HOST.
 * @returns {Promise<Record<'node' | 'nodeSlim', string>>} their names
 * @throws {SetupError} naming what is missing and how to get it.
 */
export async function nodeStandIns({ log }) {
  const names = { nodeSlim: `drover-stand-in/node:${nodeVersion}-slim`, node: `drover-stand-in/node:${nodeVersion}` };
  const image = { add: addNode, changes: certified, log };
  const debian = await debianTree({ log });
  await load(names.nodeSlim, `${debian.key} ${nodeVersion}`, { trees: [debian.folder], ...image });
  const toolchain = await toolchainTree({ log });
  const compiled = compiledSqlite();
  await load(names.node, `${toolchain.key} ${nodeVersion} ${compiled?.name ?? 'compiles'}`, {
    ...image,
    trees: [toolchain.folder],
    add: (root) => addSqlite(addNode(root), compiled),
    changes: [...certified, `ENV npm_config_better_sqlite3_local_prebuilds=${PREBUILDS}`],
  });
  return names;
}

/**
 * Those of ROS's images and the docker CLI's.
 * @returns {Promise<Record<'rosBase' | 'rosCore' | 'dockerCli', string>>} their names
 */
export async function rosStandIns({ distro, log }) {
  const names = {
    rosCore: `drover-stand-in/ros:${distro}-ros-core`,
    rosBase: `drover-stand-in/ros:${distro}-ros-base`,
    dockerCli: 'drover-stand-in/docker:cli',
  };
  const { docker, plugin } = findDockerCli();
  const addCli = (root) => addDockerCli(root, docker, plugin);
  await load(names.dockerCli, `${docker} ${plugin} ${RECIPE}`, { trees: [], add: addCli, changes: [], log });
  const python = await pythonTree({ log });
  const ros = await rosTree({ python, distro, log });
  const toolchain = await toolchainTree({ log });
  const image = { changes: [...certified, `ENV ROS_DISTRO=${distro}`], log };
  await load(names.rosCore, ros.key, { trees: [python.folder, ros.folder], ...image });
  await load(names.rosBase, ros.key, { trees: [toolchain.folder, ros.folder], ...image });
  return names;
}

/** Where a machine's own certificates are to be trusted, as pip, npm and Node are told so. */
const certified = ['NODE_EXTRA_CA_CERTS', 'PIP_CERT', 'SSL_CERT_FILE'].map((name) => `ENV ${name}=/${CERTIFICATES}`);

/** Debian and nothing more. */
async function debianTree({ log }) {
  if (process.getuid() !== 0) throw new SetupError('the stand-ins of base images take root: debootstrap makes devices');
  const debootstrap = onPath('debootstrap');
  if (debootstrap === undefined) throw new SetupError('debootstrap is missing: apt-get install debootstrap');
  return tree(`debian-${SUITE}-${RECIPE}`, log, async (folder, logFile) => {
    log(`making Debian ${SUITE}`);
    await run(debootstrap, ['--variant=minbase', SUITE, folder], { what: 'debootstrap', logFile });
    writeFileSync(join(folder, 'etc/dpkg/dpkg.cfg.d/drover'), `${DPKG.join('\n')}\n`);
    for (const name of ['doc', 'man', 'locale']) empty(join(folder, 'usr/share', name));
    finish(folder);
  });
}

/** The same with Python. */
async function pythonTree({ log }) {
  return packagesTree('python', { below: await debianTree({ log }), packages: PYTHON, log });
}

/** And with what compiles. */
async function toolchainTree({ log }) {
  return packagesTree('toolchain', { below: await pythonTree({ log }), packages: TOOLCHAIN, log });
}

async function packagesTree(name, { below, packages, log }) {
  return tree(`${name}-${SUITE}-${RECIPE}`, log, async (folder, logFile) => {
    log(`installing ${packages.join(', ')}`);
    await run('cp', ['-a', `${below.folder}/.`, folder], { what: `copying ${below.key}` });
    const inside = { env: { PATH: process.env.PATH, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }, logFile };
    // The clock of a machine may be far from that of the lists.
    const apt = [
      'chroot',
      folder,
      'apt-get',
      '-o',
      'Acquire::Check-Valid-Until=false',
      '-o',
      'Acquire::Check-Date=false',
    ];
    const command = (...args) => run(apt[0], [...apt.slice(1), ...args], { ...inside, what: args.join(' ') });
    await command('update', '-qq');
    await command('install', '-y', '-qq', '--no-install-recommends', ...packages);
    finish(folder);
  });
}

/** What a ROS 2 distribution adds to Python: only /opt/ros/DISTRO. */
async function rosTree({ python, distro, log }) {
  const { version, wheels } = DISTROS[distro];
  return tree(`ros-${distro}-${version}-${RECIPE}`, log, async (folder, logFile) => {
    log(`installing ROS 2 ${distro}`);
    const prefix = `/opt/ros/${distro}`;
    const work = `${folder}.work`;
    rmSync(work, { recursive: true, force: true });
    await run('cp', ['-a', python.folder, work], { what: 'copying Python' });
    const env = { PATH: process.env.PATH, HOME: '/root', PIP_CERT: `/${CERTIFICATES}`, LC_ALL: 'C.UTF-8' };
    const inside = (what, ...args) => run('chroot', [work, ...args], { env, what, logFile });
    await inside('making the venv', 'python3', '-m', 'venv', prefix);
    const pip = ['-m', 'pip', 'install', '--no-cache-dir', '--disable-pip-version-check', '--quiet', ...wheels];
    await inside(`installing ROS 2 ${distro}`, `${prefix}/bin/python`, ...pip);
    await inside('removing pip', `${prefix}/bin/python`, '-m', 'pip', 'uninstall', '-y', '-q', 'pip', 'setuptools');
    // rclnodejs looks for it, and never runs it.
    writeFileSync(join(work, prefix, 'bin/ros2'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    writeFileSync(join(work, prefix, 'setup.sh'), setupScript(work, prefix, distro));
    mkdirSync(join(folder, 'opt/ros'), { recursive: true });
    await run('mv', [join(work, prefix), join(folder, prefix)], { what: 'moving ROS' });
    rmSync(work, { recursive: true });
  });
}

function setupScript(root, prefix, distro) {
  const lib = readdirSync(join(root, 'usr/lib'), { recursive: true }).find((path) =>
    /\/libpython3[^/]*\.so/.test(path),
  );
  if (lib === undefined) throw new SetupError('the packages have no shared libpython');
  const set = wheelsEnvironment({ distro, prefix: join(root, prefix), libpython: `/usr/lib/${lib}`, env: {} });
  const lines = Object.entries(set).map(([name, value]) => {
    const before = ['PATH', 'LD_LIBRARY_PATH', 'AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH'].includes(name);
    return `export ${name}="${value.replaceAll(root, '')}${before ? `\${${name}:+:$${name}}` : ''}"`;
  });
  return `${lines.join('\n')}\n`;
}

/** This machine's Node where the official images have it. */
function addNode(root) {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const local = join(root, 'usr/local');
  for (const folder of ['bin', 'include', 'lib/node_modules']) mkdirSync(join(local, folder), { recursive: true });
  cpSync(realpathSync(process.execPath), join(local, 'bin/node'));
  cpSync(join(prefix, 'include/node'), join(local, 'include/node'), { recursive: true });
  const npm = dirname(dirname(realpathSync(onPath('npm'))));
  cpSync(npm, join(local, 'lib/node_modules/npm'), { recursive: true, verbatimSymlinks: true });
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
  return root;
}

/** This checkout's better-sqlite3 where it was compiled for what the images are: Debian of that suite. */
function compiledSqlite() {
  const folder = join(checkout, 'node_modules/better-sqlite3');
  const addon = 'build/Release/better_sqlite3.node';
  const suite = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
  if (suite !== SUITE || !existsSync(join(folder, addon))) return undefined;
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const built = `node-v${process.versions.modules}-${process.platform}-${process.arch}`;
  return { name: `better-sqlite3-v${version}-${built}.tar.gz`, folder, addon };
}

/** In the place of the compiled one that its makers offer for download, which the installation tries first: minutes saved. */
async function addSqlite(root, compiled) {
  if (compiled === undefined) return;
  mkdirSync(join(root, PREBUILDS));
  const args = ['-czf', join(root, PREBUILDS, compiled.name), '-C', compiled.folder, compiled.addon];
  await run('tar', args, { what: 'packing better-sqlite3' });
}

function findDockerCli() {
  const docker = onPath('docker');
  const plugin = PLUGIN_FOLDERS.map((place) => join(place, 'cli-plugins/docker-compose')).find(existsSync);
  if (docker === undefined) throw new SetupError('docker is missing: apt-get install docker.io');
  if (plugin === undefined) throw new SetupError('the compose plugin of docker is missing: install docker compose 2');
  return { docker: realpathSync(docker), plugin: realpathSync(plugin) };
}

/** This machine's docker CLI and compose plugin, where the official image has them. */
function addDockerCli(root, docker, plugin) {
  for (const [from, to] of [
    [docker, 'usr/local/bin/docker'],
    [plugin, 'usr/local/libexec/docker/cli-plugins/docker-compose'],
  ]) {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    cpSync(from, join(root, to));
  }
}

let loads = 0;
/** One image of several trees laid over each other, and of what `add` adds, unless it is there. */
async function load(name, key, { trees, add, changes, log }) {
  const label = 'drover.stand-in';
  const known = await run('docker', ['image', 'inspect', '-f', `{{index .Config.Labels "${label}"}}`, name], {
    what: `looking at ${name}`,
  }).catch(() => '');
  if (known.trim() === key) return;
  log(`loading ${name}`);
  // In the cache, on one file system with what is linked to it.
  const root = join(cacheRoot(process.env, 'images'), `merged-${process.pid}-${++loads}`);
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  try {
    // Links, and never written through: what comes later takes the place of what it is laid over.
    for (const tree of trees) {
      await run('cp', ['-al', '--remove-destination', `${tree}/.`, root], { what: `copying ${tree}` });
    }
    await add?.(root);
    const options = [`LABEL ${label}="${key}"`, ...changes].flatMap((change) => ['--change', change]);
    const quoted = [...options, '-', name].map((word) => `'${word}'`).join(' ');
    const importing = `tar -c --numeric-owner -C '${root}' . | docker import ${quoted}`;
    await run('sh', ['-c', importing], { what: `loading ${name}` });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** A tree of the cache. */
async function tree(key, log, make) {
  const root = await cached({
    area: 'images',
    key,
    log,
    make: (folder) => {
      mkdirSync(join(folder, 'tree'));
      return make(join(folder, 'tree'), join(folder, 'setup.log'));
    },
  });
  return { key, folder: join(root, 'tree') };
}

function finish(folder) {
  // What this machine trusts, a proxy's authority perhaps. Last: a package may have written its own.
  mkdirSync(dirname(join(folder, CERTIFICATES)), { recursive: true });
  cpSync(`/${CERTIFICATES}`, join(folder, CERTIFICATES));
  for (const kept of ['var/cache/apt', 'var/lib/apt/lists']) empty(join(folder, kept));
}

function empty(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}
