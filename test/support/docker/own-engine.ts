import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A Docker Engine of our own, beside whatever engine the machine has: own socket, data and networks. Takes root.
 *
 * `network: 'apart'` puts it into a network namespace of its own, where it does what every engine does; its published ports are
 * reached from there only. `'host'` publishes on the machine itself. There it has a bridge and address range of its own and
 * leaves the firewall alone but for three rules: an engine that manages it empties the chains of the one beside it, and one
 * without any bridge deletes that one's docker0.
 */
export class OwnEngine {
  readonly folder = mkdtempSync(join(tmpdir(), 'drover-engine-'));
  readonly #place: Place;
  #daemon: ChildProcess | undefined;

  private constructor(place: Place) {
    this.#place = place;
  }

  /** Resolves once it answers. @throws Error with the end of its log where it doesn't come up. */
  static async start(network: 'apart' | 'host'): Promise<OwnEngine> {
    const engine = new OwnEngine(network === 'apart' ? await apart() : await onHost());
    try {
      await engine.start();
    } catch (error) {
      await engine.dispose();
      throw error;
    }
    return engine;
  }

  /** What DOCKER_HOST is to be. */
  get host(): string {
    return `unix://${this.#socket}`;
  }

  get #socket(): string {
    return join(this.folder, 'docker.sock');
  }

  /** The same engine again on the same data, once it has ended. */
  async start(): Promise<void> {
    const log = openSync(join(this.folder, 'dockerd.log'), 'a');
    const [command = '', ...args] = [
      ...this.#place.within,
      'dockerd',
      ...this.#place.flags,
      ...['--data-root', join(this.folder, 'data'), '--exec-root', join(this.folder, 'exec')],
      ...['--pidfile', join(this.folder, 'dockerd.pid'), '--host', this.host],
    ];
    // Its own process group: a Ctrl-C is for the tests, which then end it after their containers.
    const daemon = spawn(command, args, { stdio: ['ignore', log, log], detached: true, env: sbin() });
    closeSync(log);
    this.#daemon = daemon;
    const ended = once(daemon, 'exit').then(() => true);
    const deadline = Date.now() + 60_000;
    while (!(await this.#answers())) {
      const over = await Promise.race([ended, new Promise<false>((resolve) => setTimeout(resolve, 100, false))]);
      if (over || Date.now() > deadline) throw new Error(`dockerd did not come up:\n${this.logTail()}`);
    }
  }

  /** As `systemctl stop docker` does: its containers are stopped too. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Its containers run on until it is started again. */
  async kill9(): Promise<void> {
    const containerd = Number(readFileSync(join(this.folder, 'exec/containerd/containerd.pid'), 'utf8'));
    await this.#end('SIGKILL');
    // It dies with dockerd, but a moment later, and a dockerd that starts in that moment takes it for running and waits for it.
    await gone(containerd);
  }

  /** Ends it and removes all that it had: containers, networks, images, files. */
  async dispose(): Promise<void> {
    if (this.#daemon !== undefined && this.#daemon.exitCode === null && this.#daemon.signalCode === null) {
      const containers = this.#docker('ps', '-aq').split('\n').filter(Boolean);
      if (containers.length > 0) this.#docker('rm', '-f', ...containers);
      this.#docker('network', 'prune', '-f');
      await this.stop();
    }
    await this.#endLeftovers();
    await this.#place.leave();
    for (const path of mountsBelow(this.folder)) spawnSync('umount', ['-l', path]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const daemon = this.#daemon;
    if (daemon === undefined || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const exited = once(daemon, 'exit');
    daemon.kill(signal);
    await exited;
  }

  /** What a killed dockerd left running: its containerd, the shims, and what runs in the containers. */
  async #endLeftovers(): Promise<void> {
    const shims = processes().filter(({ cmdline }) => cmdline.includes(`${this.folder}/`));
    const containers = shims.flatMap(({ cmdline }) => /\0-id\0([0-9a-f]{64})\0/.exec(cmdline)?.[1] ?? []);
    const inside = processes().filter(({ cgroup }) => containers.some((id) => cgroup.includes(id)));
    for (const { pid } of [...shims, ...inside]) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    await Promise.all([...shims, ...inside].map(({ pid }) => gone(pid)));
  }

  #docker(...args: string[]): string {
    return spawnSync('docker', ['--host', this.host, ...args], { encoding: 'utf8' }).stdout ?? '';
  }

  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const ping = request({ socketPath: this.#socket, path: '/_ping', timeout: 2000 }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      });
      ping.on('error', () => resolve(false)).on('timeout', () => ping.destroy());
      ping.end();
    });
  }

  /** The last lines that it wrote. */
  logTail(lines = 15): string {
    return readFileSync(join(this.folder, 'dockerd.log'), 'utf8').split('\n').slice(-lines).join('\n');
  }
}

/** Why no engine of our own can be had here; null where it can. */
export function whyNoOwnEngine(): string | null {
  if (process.getuid?.() !== 0) return 'run as root to start a Docker Engine';
  if (spawnSync('dockerd', ['--version'], { env: sbin() }).status !== 0) return 'install docker.io';
  return null;
}

interface Place {
  /** A command that runs dockerd there. */
  readonly within: readonly string[];
  readonly flags: readonly string[];
  leave(): Promise<void>;
}

/** A network namespace that lasts across restarts of the engine, as a machine's does. */
async function apart(): Promise<Place> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && echo ready && exec sleep infinity'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    env: sbin(),
  });
  const ready = once(holder.stdout, 'data').then(() => true);
  if (!(await Promise.race([ready, once(holder, 'exit').then(() => false)]))) {
    throw new Error('no network namespace could be made (unshare --net, ip link)');
  }
  holder.unref();
  return {
    within: ['nsenter', `--net=/proc/${holder.pid}/ns/net`, '--'],
    flags: [],
    leave: async () => {
      holder.ref();
      const exited = once(holder, 'exit');
      if (holder.kill('SIGKILL')) await exited;
    },
  };
}

async function onHost(): Promise<Place> {
  let n = 0;
  // The first name that is free: several checkouts may be tested on one machine.
  while (spawnSync('ip', ['link', 'add', `drover-ci${n}`, 'type', 'bridge'], { env: sbin() }).status !== 0) {
    n += 1;
    if (n > 40) run('ip', 'link', 'add', 'drover-ci', 'type', 'bridge');
  }
  const bridge = `drover-ci${n}`;
  const range = `10.${213 + n}.0.0/16`;
  const rules = [
    ['FORWARD', '-s', range, '-j', 'ACCEPT'],
    ['FORWARD', '-d', range, '-j', 'ACCEPT'],
    ['POSTROUTING', '-t', 'nat', '-s', range, '!', '-d', range, '-j', 'MASQUERADE'],
  ];
  run('ip', 'address', 'add', `10.${213 + n}.255.1/24`, 'dev', bridge);
  run('ip', 'link', 'set', bridge, 'up');
  for (const rule of rules) run('iptables', '--wait', '-I', ...rule);
  return {
    within: [],
    flags: [
      ...['--bridge', bridge, '--iptables=false', '--ip6tables=false'],
      ...['--default-address-pool', `base=10.${213 + n}.0.0/17,size=24`],
    ],
    leave: async () => {
      for (const rule of rules) run('iptables', '--wait', '-D', ...rule);
      run('ip', 'link', 'delete', bridge);
    },
  };
}

function run(command: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', env: sbin() });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`);
}

/** Where Debian has dockerd, ip and iptables, which a user's PATH may lack. */
function sbin(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };
}

function mountsBelow(folder: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const paths = mounts.map((line) => line.split(' ')[1] ?? '').filter((path) => path.startsWith(`${folder}/`));
  return paths.reverse();
}

function processes(): { pid: number; cmdline: string; cgroup: string }[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => ({ pid: Number(pid), cmdline: read(pid, 'cmdline'), cgroup: read(pid, 'cgroup') }));
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Resolves once there is no such process any more, reaped too; gives up after 10 s. */
async function gone(pid: number): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (existsSync(`/proc/${pid}`) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
}
