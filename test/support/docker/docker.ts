import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { whyNoOwnEngine } from './own-engine.js';

/** The engine that tests use: whatever answers at DOCKER_HOST or its default. Tests name what they make there, and remove it. */
export class DockerCli {
  /** @param host the engine's DOCKER_HOST; undefined = this process's own */
  constructor(readonly host?: string) {}

  /** The environment in which `docker` and an agent reach this engine. */
  get env(): Record<string, string> {
    return this.host === undefined ? {} : { DOCKER_HOST: this.host };
  }

  /** What `docker …` prints. @throws Error with its words where it fails. */
  async run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.try(...args);
    if (code !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async try(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const child = spawn('docker', args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.env },
    });
    const exited = new Promise<number>((resolve, reject) => {
      child.once('error', reject).once('close', (code) => resolve(code ?? 1));
    });
    const [code, stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
    return { code, stdout: stdout.trim(), stderr: stderr.trim() };
  }

  /** One line an item of what `docker …` prints. */
  async lines(...args: string[]): Promise<string[]> {
    return (await this.run(...args)).split('\n').filter((line) => line !== '');
  }

  /** Every container of the project that there is, ended ones too, by name. */
  async containers(project: string): Promise<Container[]> {
    const ids = await this.lines('ps', '-aq', '--filter', `label=com.docker.compose.project=${project}`);
    if (ids.length === 0) return [];
    // One may be removed in between, which inspect then says in its exit code.
    const { stdout } = await this.try('inspect', ...ids);
    const inspected: Inspected[] = JSON.parse(stdout === '' ? '[]' : stdout);
    return inspected.map(toContainer).sort((a, b) => a.name.localeCompare(b.name));
  }

  /** Removes all that carries the project's label: containers, networks, volumes. */
  async removeProject(project: string): Promise<void> {
    const label = `label=com.docker.compose.project=${project}`;
    for (const [list, remove] of [
      [
        ['ps', '-aq'],
        ['rm', '-fv'],
      ],
      [
        ['network', 'ls', '-q'],
        ['network', 'rm'],
      ],
      [
        ['volume', 'ls', '-q'],
        ['volume', 'rm', '-f'],
      ],
    ] as const) {
      const ids = await this.lines(...list, '--filter', label);
      if (ids.length > 0) await this.try(...remove, ...ids);
    }
  }
}

export interface Container {
  readonly id: string;
  readonly name: string;
  readonly service: string;
  readonly image: string;
  readonly running: boolean;
  readonly state: string;
  readonly health: string | null;
  readonly exitCode: number;
  /** All that `docker inspect` tells. */
  readonly inspected: Inspected;
}

export interface Inspected {
  Id: string;
  Name: string;
  State: { Status: string; Running: boolean; ExitCode: number; StartedAt: string; Health?: { Status: string } };
  Config: { Image: string; Env: string[] | null; Labels: Record<string, string> };
  [field: string]: unknown;
}

function toContainer(inspected: Inspected): Container {
  const { Id, Name, State, Config } = inspected;
  return {
    id: Id,
    name: Name.replace(/^\//, ''),
    service: Config.Labels['com.docker.compose.service'] ?? '',
    image: Config.Image,
    running: State.Running,
    state: State.Status,
    health: State.Health?.Status ?? null,
    exitCode: State.ExitCode,
    inspected,
  };
}

/** Why tests with Docker can't run here; null where they can. */
export function whyNoDocker(): string | null {
  const tools = whyNoTools();
  if (tools !== null) return tools;
  const engine = spawnSync('docker', ['version', '--format', '{{.Server.Version}}'], { encoding: 'utf8' });
  return engine.status === 0 ? null : `no Docker Engine answers: ${engine.stderr.trim().split('\n').at(-1)}`;
}

/** Why not even an engine of their own would do. */
function whyNoTools(): string | null {
  if (process.env.DROVER_TEST_DOCKER === 'off') return 'DROVER_TEST_DOCKER=off';
  if (spawnSync('docker', ['--version']).error) return 'install Docker: docker is not there';
  if (spawnSync('docker', ['compose', 'version']).status !== 0) return 'install the compose plugin of Docker';
  return whyNoBusybox();
}

/** The images of tests are made of Debian's static busybox alone. */
function whyNoBusybox(): string | null {
  const found = spawnSync('busybox', ['--list'], { encoding: 'utf8', env: { PATH: '/bin:/usr/bin' } });
  return found.status === 0 ? null : 'install busybox-static';
}

/** For tests on a Docker Engine: skipped with the reason where none answers, failed under CI=true. */
export function describeDocker(name: string, tests: () => void): void {
  describeWhere(whyNoDocker(), name, tests);
}

/** For tests that start and kill an engine of their own (OwnEngine). */
export function describeOwnEngine(name: string, tests: () => void): void {
  describeWhere(whyNoTools() ?? whyNoOwnEngine(), name, tests);
}

/** For tests on a Docker Engine with a registry beside it (TestRegistry). */
export function describeRegistry(name: string, tests: () => void): void {
  const registry = spawnSync('docker-registry', ['--version']);
  describeWhere(whyNoDocker() ?? (registry.status === 0 ? null : 'install docker-registry'), name, tests);
}

/** Skipped with the reason where there is one, failed under CI=true. */
export function describeWhere(reason: string | null, name: string, tests: () => void): void {
  if (reason === null) {
    describe(name, tests);
  } else if (process.env.CI === 'true') {
    it(`${name}: needs a Docker Engine`, () => expect.fail(`this must run in CI: ${reason}`));
  } else {
    describe.skip(`${name} (${reason})`, tests);
  }
}
