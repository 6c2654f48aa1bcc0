import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { ComposeStatus } from '@drover/shared/link/compose-status';
import type { Desired } from '@drover/shared/link/desired';
import { onTestFinished } from 'vitest';
import { DEFAULT_COMPOSE_RULES } from '../policy/compose-rules.js';
import { silent, tempDataDir } from '../spool/fixture.js';
import type { Compose, ComposeOptions } from './compose.js';
import { BOX, docker } from './docker/box.fixture.js';
import { type DockerEnv, dockerEnv } from './docker/docker-env.js';
import { openCompose } from './open.js';
import { ComposeQuestions } from './questions.js';

/** Nobody listens there. */
export const NO_SUCH_IMAGE = '127.0.0.1:9/drover-test/none:1';

export const env = dockerEnv(process.env);

/** A service that runs until it is stopped, at once. */
export function runs(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { image: BOX, command: ['sleep', '1000000'], init: true, stop_grace_period: '1s', ...more };
}

/** A deployer of its own project on the real engine, taken down with all it made when the test ends. */
export class TestCompose {
  readonly project: string;
  readonly dataDir: string;
  readonly #healthTimeoutS: number;
  readonly #env: DockerEnv;
  #compose: Compose;
  #questions: ComposeQuestions | null = null;
  #wanted: Pick<Desired, 'compose' | 'compose_removal'> = { compose: null };
  #wake: () => void = () => {};
  #last: ComposeStatus | null = null;
  /** Every state and phase that was told, in order, each once in a row. */
  readonly told: string[] = [];

  constructor(options: { healthTimeoutS?: number; host?: string } = {}) {
    this.project = `core-${randomUUID().slice(0, 8)}`;
    this.dataDir = tempDataDir();
    this.#env = options.host === undefined ? env : { ...env, DOCKER_HOST: options.host };
    this.#healthTimeoutS = options.healthTimeoutS ?? 20;
    this.#compose = this.#open();
    onTestFinished(async () => {
      await this.#compose.stop();
      docker('compose', '-p', this.project, 'down', '--volumes', '--remove-orphans', '-t', '0');
    });
  }

  get status(): ComposeStatus | null {
    return this.#compose.status();
  }

  get questions(): ComposeQuestions {
    if (this.#questions === null) throw new Error('the deployer is not open');
    return this.#questions;
  }

  #open(): Compose {
    const compose = { project: this.project, healthTimeoutS: this.#healthTimeoutS, lockFile: null, env: this.#env };
    const means: Pick<ComposeOptions, 'newId' | 'monotonicNow' | 'wallNow' | 'log'> = {
      ...{ newId: randomUUID, monotonicNow: () => performance.now(), wallNow: Date.now, log: silent },
    };
    const agent = {
      token: { token: 'drt_test' },
      configFile: '/etc/drover/agent.yaml',
      composeRules: DEFAULT_COMPOSE_RULES,
    };
    const config = { dataDir: this.dataDir, compose, ...agent };
    const opened = openCompose(config, means);
    this.#questions = new ComposeQuestions(opened, config);
    opened.opened({ send: (status) => this.#received(status) }, { link_version: 5 });
    return opened;
  }

  #received(status: ComposeStatus): void {
    this.#last = status;
    const word = `${status.state} ${status.phase}`;
    if (this.told.at(-1) !== word) this.told.push(word);
    this.#wake();
  }

  /** Assigns a document. @returns the assignment's id. */
  assign(services: Record<string, unknown>, more: { version?: number; override?: boolean; top?: object } = {}): string {
    const assignment = randomUUID();
    const { version = 1, override = false, top = {} } = more;
    const content = { services, ...top };
    const compose = { id: 'app', version, name: 'app', content, assignment, override_lock: override };
    this.#wanted = { compose };
    this.#compose.apply(this.#wanted, 'robot-1');
    return assignment;
  }

  remove({ volumes = false, override = false } = {}): string {
    const assignment = randomUUID();
    this.#wanted = { compose: null, compose_removal: { assignment, volumes, override_lock: override } };
    this.#compose.apply(this.#wanted, 'robot-1');
    return assignment;
  }

  /** The first status told from now on that is so, or the one told last. */
  async until(is: (status: ComposeStatus) => boolean): Promise<ComposeStatus> {
    while (this.#last === null || !is(this.#last)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#last;
  }

  /** The end of an assignment. */
  async settled(assignment: string): Promise<ComposeStatus> {
    const isEnd = ({ state, error_code }: ComposeStatus) =>
      ['up', 'down', 'error'].includes(state) && error_code !== 'docker_unavailable';
    return await this.until((status) => status.assignment === assignment && isEnd(status) && status.phase === 'idle');
  }

  get lockFile(): string {
    return join(this.dataDir, 'compose', 'update.lock');
  }

  /** The agent ends in order. */
  async stop(): Promise<void> {
    await this.#compose.stop();
  }

  /** The agent ends in order and starts again. */
  async restart(): Promise<void> {
    await this.stop();
    this.goOn(this.#wanted);
  }

  /** The agent starts, with that desired. */
  goOn(wanted: Pick<Desired, 'compose' | 'compose_removal'>): void {
    this.#wanted = wanted;
    this.#last = null;
    this.#compose = this.#open();
    this.#compose.apply(this.#wanted, 'robot-1');
  }

  /** Id of the only container of a service. */
  id(service: string): string {
    return this.inspect(service, '{{.Id}}');
  }

  inspect(service: string, format: string): string {
    return docker('inspect', '--format', format, `${this.project}-${service}-1`);
  }

  volumes(): string[] {
    const names = docker('volume', 'ls', '-q', '--filter', `label=com.docker.compose.project=${this.project}`);
    return names === '' ? [] : names.split('\n').sort();
  }

  /** Names of the project's containers, running or not, as the engine has them. */
  containers(): string[] {
    const names = docker(
      'ps',
      '-a',
      '--filter',
      `label=com.docker.compose.project=${this.project}`,
      '--format',
      '{{.Names}}',
    );
    return names === '' ? [] : names.split('\n').sort();
  }
}
