import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ComposeStatus, ComposeVersion } from '@drover/shared/link/compose-status';
import type { Desired } from '@drover/shared/link/desired';
import type { Welcome } from '@drover/shared/link/welcome';
import type { Logger } from 'pino';
import { ComposeReporter, type ComposeUplink } from './compose-reporter.js';
import { Applier } from './deployment/applier.js';
import { Deployer } from './deployment/deployer.js';
import { Executor } from './deployment/executor.js';
import { Progress } from './deployment/progress.js';
import { StateFile } from './deployment/state-file.js';
import { UpdateLock } from './deployment/update-lock.js';
import { type CliOptions, ComposeCli } from './docker/cli.js';
import type { DockerEnv } from './docker/docker-env.js';
import { Engine } from './docker/engine.js';
import { Observer } from './docker/observer.js';
import type { Owner, Prepare } from './document/deployable.js';
import { statusOf } from './status.js';

export interface ComposeOptions {
  readonly dataDir: string;
  readonly project: string;
  readonly healthWindowMs: number;
  /** Null: in the data directory. */
  readonly lockFile: string | null;
  readonly env: DockerEnv;
  /** Makes what looks at documents, of what it may need. */
  readonly prepare: (parts: { cli: CliOptions; engine: Engine }) => Prepare;
  readonly newId: () => string;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  readonly wallNow: () => number;
  readonly log: Logger;
}

/** Compose deployments: what is assigned is made to run on the robot's Docker Engine, and how it does is told to the cloud. */
export class Compose {
  readonly engine: Engine;
  readonly cli: CliOptions;
  readonly prepare: Prepare;
  readonly #state: StateFile;
  readonly #observer: Observer;
  readonly #progress: Progress;
  readonly #deployer: Deployer;
  readonly #reporter: ComposeReporter;
  #robot = '';

  constructor({ dataDir, project, env, prepare, lockFile, ...options }: ComposeOptions) {
    const { monotonicNow, wallNow, newId, healthWindowMs } = options;
    const log = options.log.child({ part: 'compose' });
    const directory = join(dataDir, 'compose');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.cli = { directory, project, env };
    this.engine = new Engine(env);
    this.prepare = prepare({ cli: this.cli, engine: this.engine });
    const cli = new ComposeCli(this.cli);
    this.#state = new StateFile({ directory, newId, log });
    this.#observer = new Observer({ engine: this.engine, project, log });
    const onMissing = () => log.warn('there is no flock program (util-linux): nobody can hold an update off');
    const lock = new UpdateLock({ path: lockFile ?? join(directory, 'update.lock'), onMissing });
    const problem = lock.make();
    if (problem !== null) log.error(problem);
    const parts = { cli, engine: this.engine, observer: this.#observer };
    const executor = new Executor({ ...parts, env, lock, healthWindowMs, monotonicNow });
    const state = this.#state;
    this.#reporter = new ComposeReporter(() => this.status());
    this.#progress = new Progress(() => this.#reporter.changed());
    const shared = { ...parts, state, progress: this.#progress, log };
    const applier = new Applier({ ...shared, executor, prepare: this.prepare, directory });
    this.#deployer = new Deployer({ ...shared, applier, wallNow, monotonicNow });
    state.onChange(() => this.#reporter.changed());
    this.#observer.onChange(() => this.#reporter.changed());
  }

  /** Null before anything was ever assigned. */
  status(): ComposeStatus | null {
    return statusOf(this.#state.state, this.#progress, {
      containers: this.#observer.containers,
      running: this.running,
    });
  }

  /** By whom the labels of our containers say they are. */
  get owner(): Owner {
    return { robot: this.#robot, agent: this.#state.state.agent };
  }

  /** Null also where nothing of it is there any more; as it was left while the engine can't be seen. */
  get running(): ComposeVersion | null {
    const { good } = this.#state.state;
    const isGone = this.#observer.isWatching && this.#observer.containers.length === 0;
    return good === null || isGone ? null : { id: good.id, version: good.version };
  }

  /** What the desired state says; at the agent's start, too. */
  apply(wanted: Pick<Desired, 'compose' | 'compose_removal'>, robot: string): void {
    this.#robot = robot;
    this.#deployer.apply(wanted, robot);
  }

  opened(uplink: ComposeUplink, welcome: Pick<Welcome, 'link_version'>): void {
    this.#reporter.opened(uplink, welcome);
  }

  closed(): void {
    this.#reporter.closed();
  }

  /** Ends what runs; what it leaves half-done, the next start goes on with. */
  async stop(): Promise<void> {
    this.#reporter.closed();
    await this.#deployer.stop();
  }
}
