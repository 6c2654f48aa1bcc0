import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Running } from './process.js';

/** A real agent process with a data directory of its own. */
export class TestAgent {
  readonly #env: Record<string, string>;
  readonly #program: 'agent' | 'supervised agent';
  readonly #within: readonly string[];
  readonly dataDir: string;
  process: Running;

  private constructor(dataDir: string, env: Record<string, string>, supervised: boolean, within: readonly string[]) {
    this.dataDir = dataDir;
    this.#within = within;
    this.#program = supervised ? 'supervised agent' : 'agent';
    this.#env = { DROVER_DATA_DIR: dataDir, DROVER_CONFIG: '', ...env };
    this.process = this.#run();
  }

  /** Starts an agent on the simulated graph, unless `env` says otherwise. */
  static async start(options: {
    url: string;
    token: string;
    env?: Record<string, string>;
    /** Starts it anew where it crashes; by default nobody does. */
    supervised?: boolean;
    /** A folder of its own by default. */
    dataDir?: string;
    /** A command that runs it in its own place (`ip netns exec …`). */
    within?: readonly string[];
  }): Promise<TestAgent> {
    const { url, token, env, supervised = false, within = [] } = options;
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'drover-agent-')));
    const settings = { DROVER_URL: url, DROVER_TOKEN: token, DROVER_ROS: 'simulated', ...env };
    return new TestAgent(dataDir, settings, supervised, within);
  }

  #run(): Running {
    return new Running(this.#program, [], this.#env, undefined, this.#within);
  }

  /** kill -9, then the same agent again on the same data. */
  async crashAndRestart(): Promise<void> {
    await this.process.kill9();
    await this.restart();
  }

  /** The same agent again on the same data, once it has ended. */
  async restart(): Promise<void> {
    await this.process.exited;
    this.process = this.#run();
  }

  async stop(): Promise<number | NodeJS.Signals> {
    const code = await this.process.stop();
    await rm(this.dataDir, { recursive: true, force: true });
    return code;
  }
}
