import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { DockerCli } from './docker.js';

const APPLETS = [
  'sh',
  'sleep',
  'cat',
  'echo',
  'env',
  'false',
  'httpd',
  'ls',
  'nc',
  'touch',
  'true',
  'wget',
  'id',
  'mount',
];

/** What the images do when they are started. Each runs `sh` just as well, where a document gives a command. */
const BEHAVIOURS = {
  /** Runs until it is stopped, and stops at once. */
  runs: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done'],
  /** Prints a line, says more on stderr, then runs. */
  prints: [
    'sh',
    '-c',
    'trap "exit 0" TERM; echo out 1; echo err 1 >&2; echo out 2; while :; do sleep 1000 & wait $!; done',
  ],
  'exits-0': ['true'],
  'exits-3': ['sh', '-c', 'echo this can not work >&2; exit 3'],
  /** Runs on where it is told to stop: only SIGKILL ends it. */
  'ignores-term': ['sh', '-c', 'trap "" TERM; while :; do sleep 1000; done'],
  /** With a healthcheck that holds, and one that never does. */
  healthy: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done'],
  'never-healthy': ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done'],
} as const;
export type Behaviour = keyof typeof BEHAVIOURS;

const HEALTHCHECKS: Partial<Record<Behaviour, string>> = {
  healthy: 'HEALTHCHECK --interval=1s --timeout=5s --retries=2 CMD ["true"]',
  'never-healthy':
    'HEALTHCHECK --interval=1s --timeout=5s --retries=2 CMD ["sh", "-c", "echo the lidar is dark; exit 1"]',
};

/** Images of two megabytes, made here of busybox under a repository name of their own: nothing is downloaded. */
export class TestImages {
  readonly #docker: DockerCli;
  /** By their names, and by their ids: one that is made anew takes the name of the one before. */
  readonly #made = new Set<string>();
  /** `drover-test-1a2b3c/box` */
  readonly repository: string;

  constructor(docker: DockerCli, registry?: string) {
    this.#docker = docker;
    const name = `drover-test-${randomBytes(4).toString('hex')}/box`;
    this.repository = registry === undefined ? name : `${registry}/${name}`;
  }

  /**
   * Makes an image and returns its name.
   * @param tag tells versions with the same behaviour apart; each is an image of its own
   * @param payloadMb so much that does not compress, in a layer: something to pull for a while
   */
  async make(behaviour: Behaviour, tag = '1', payloadMb = 0): Promise<string> {
    const image = `${this.repository}:${behaviour}-${tag}`;
    const root = await mkdtemp(join(tmpdir(), 'drover-image-'));
    try {
      for (const folder of ['bin', 'tmp', 'etc', 'data']) await mkdir(join(root, folder));
      await chmod(join(root, 'tmp'), 0o1777);
      await cp('/bin/busybox', join(root, 'bin/busybox'));
      for (const applet of APPLETS) await symlink('busybox', join(root, 'bin', applet));
      await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nrover:x:1000:1000::/:/bin/sh\n');
      await writeFile(join(root, 'etc/version'), tag);
      if (payloadMb > 0) await writeFile(join(root, 'payload'), randomBytes(payloadMb * 1024 * 1024));
      await this.#import(root, image, behaviour);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
    this.#made.add(image);
    return image;
  }

  async #import(root: string, image: string, behaviour: Behaviour): Promise<void> {
    const changes = [`CMD ${JSON.stringify(BEHAVIOURS[behaviour])}`, HEALTHCHECKS[behaviour] ?? []].flat();
    const tar = spawn('tar', ['c', '-C', root, '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const load = spawn('docker', ['import', ...changes.flatMap((change) => ['--change', change]), '-', image], {
      stdio: [tar.stdout, 'pipe', 'inherit'],
      env: { ...process.env, ...this.#docker.env },
    });
    const [[code], id] = await Promise.all([once(load, 'exit'), text(load.stdout)]);
    if (code !== 0) throw new Error(`${image} could not be imported`);
    this.#made.add(id.trim());
  }

  /** Also one that the robot pulled, not we. */
  willHave(image: string): string {
    this.#made.add(image);
    return image;
  }

  /** Takes an image off the engine, as if it had never been there. */
  async forget(image: string): Promise<void> {
    await this.#docker.run('rmi', '-f', image);
  }

  /** Removes them all, after the containers that use them. */
  async remove(): Promise<void> {
    for (const image of this.#made) await this.#docker.try('rmi', '-f', image);
  }
}
