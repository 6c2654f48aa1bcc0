import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestAgent } from '../support/agent.js';
import { TestCloud } from '../support/cloud.js';
import { LinkProxy } from '../support/link-proxy.js';
import type { Running } from '../support/process.js';
import { FaultClient } from './client.js';
import { ROBOTS } from './plan.js';
import { newestLife, newestValue } from './probe-file.js';
import { StoreFile } from './store-file.js';

export const COUNTERS = 5;
const COUNTER_HZ = 100;
const clockModule = fileURLToPath(new URL('./shifted-clock.mjs', import.meta.url));

export function counterSource(counter: number): string {
  return `/probe/counter_${counter + 1}`;
}

/** A real agent on its simulated robot, behind a line of its own. */
export class FleetRobot {
  readonly name: string;
  readonly agent: TestAgent;
  readonly proxy: LinkProxy;
  readonly probeFile: string;
  readonly #clockFile: string;
  readonly #watch: (name: string, process: Running) => void;
  /** Lives that were ended by kill -9. */
  readonly killed = new Set<number>();
  /** Up to this value, everything it published has been looked at. */
  checkedTo = 0;
  isUp = true;

  private constructor(
    name: string,
    parts: { agent: TestAgent; proxy: LinkProxy; files: RobotFiles; watch: (name: string, process: Running) => void },
  ) {
    this.name = name;
    this.agent = parts.agent;
    this.proxy = parts.proxy;
    this.probeFile = parts.files.probe;
    this.#clockFile = parts.files.clock;
    this.#watch = parts.watch;
  }

  static async start(
    name: string,
    options: { token: string; cloudUrl: string; dir: string; watch: (name: string, process: Running) => void },
  ): Promise<FleetRobot> {
    const files = { probe: join(options.dir, `${name}.probe`), clock: join(options.dir, `${name}.clock`) };
    await writeFile(files.clock, '0');
    const proxy = await LinkProxy.start(options.cloudUrl);
    const agent = await TestAgent.start({
      url: proxy.url,
      token: options.token,
      env: {
        DROVER_TEST_PROBE: files.probe,
        DROVER_TEST_CLOCK_SHIFT: files.clock,
        NODE_OPTIONS: `--import ${clockModule}`,
      },
    });
    options.watch(name, agent.process);
    return new FleetRobot(name, { agent, proxy, files, watch: options.watch });
  }

  async kill9(): Promise<void> {
    this.isUp = false;
    await this.agent.process.kill9();
    const life = newestLife(await this.probeText());
    if (life > 0) this.killed.add(life);
  }

  async restart(): Promise<void> {
    await this.agent.restart();
    this.#watch(this.name, this.agent.process);
    this.isUp = true;
  }

  async shiftClock(shiftMs: number): Promise<void> {
    await writeFile(this.#clockFile, String(shiftMs));
    // One that just starts reads it by itself, and does not know the signal yet.
    const { lines } = this.agent.process;
    if (this.isUp && lines.some((line) => line.msg === 'agent started')) this.agent.process.signal('SIGUSR2');
  }

  async probeText(): Promise<string> {
    return await readFile(this.probeFile, 'utf8').catch(() => '');
  }

  async newestValue(): Promise<number> {
    return newestValue(await this.probeText());
  }

  /** Sources and rates that this life of the agent collects now, as its log tells. */
  get collected(): string[] {
    const running = new Map<string, string>();
    for (const { msg, source, hz } of this.agent.process.lines) {
      if (msg === 'stream starts') running.set(String(source), `${source} ${hz}`);
      if (msg === 'stream stops') running.delete(String(source));
    }
    return [...running.values()];
  }
}

interface RobotFiles {
  readonly probe: string;
  readonly clock: string;
}

/** Every process of a round, to tell which ended by itself. */
class Processes {
  readonly all: { name: string; process: Running }[] = [];
  /** Those whose end was asked for. */
  readonly #ending = new Set<Running>();
  readonly crashes: string[] = [];

  readonly watch = (name: string, process: Running): void => {
    this.all.push({ name, process });
    void process.exited.then((code) => {
      if (!this.#ending.has(process) && code !== 'SIGKILL') this.crashes.push(`${name} ended by itself: ${code}`);
    });
  };

  expectEnd(process: Running): void {
    this.#ending.add(process);
  }
}

/** A real cloud and its robots, each with five counters collected. */
export class Fleet {
  readonly cloud: TestCloud;
  readonly robots: readonly FleetRobot[];
  readonly #dir: string;
  readonly #processes: Processes;
  readonly store: StoreFile;
  /** Sends commands, and remembers them for as long as the fleet lives. */
  readonly client: FaultClient;

  private constructor(parts: { cloud: TestCloud; robots: FleetRobot[]; dir: string; processes: Processes }) {
    this.cloud = parts.cloud;
    this.client = new FaultClient(parts.cloud);
    this.store = new StoreFile(parts.cloud.dataDir);
    this.robots = parts.robots;
    this.#dir = parts.dir;
    this.#processes = parts.processes;
  }

  static async start(robotCount: number = ROBOTS): Promise<Fleet> {
    const dir = await mkdtemp(join(tmpdir(), 'drover-faults-'));
    const processes = new Processes();
    const cloud = await TestCloud.start();
    processes.watch('cloud', cloud.process);
    const robots = await Promise.all(
      Array.from({ length: robotCount }, async (_, at) => {
        const name = `robot-${at}`;
        const token = await cloud.register(name);
        for (let counter = 0; counter < COUNTERS; counter += 1) {
          const stream = { source: counterSource(counter), type: 'std_msgs/msg/Int64', hz: COUNTER_HZ };
          await cloud.call('POST', `/robots/${name}/streams`, stream);
        }
        return await FleetRobot.start(name, { token, cloudUrl: cloud.url, dir, watch: processes.watch });
      }),
    );
    return new Fleet({ cloud, robots, dir, processes });
  }

  /** What ended though nobody ended it. */
  get crashes(): readonly string[] {
    return this.#processes.crashes;
  }

  /** The cloud again on the same data, once it was killed. */
  async cloudRestarted(): Promise<void> {
    // One that is killed again before it listens is no failure; one that ends by itself is seen.
    await this.cloud.crashAndRestart().catch(() => {});
    this.#processes.watch('cloud', this.cloud.process);
  }

  /** SIGTERM to a robot's agent. */
  async stopRobot(robot: FleetRobot): Promise<void> {
    const { process } = robot.agent;
    this.#processes.expectEnd(process);
    // Before it has started, the signal ends it as it would any program.
    const isUp = process.lines.some((line) => line.msg === 'agent started');
    const code = await process.stop();
    if (code !== 0 && (isUp || code !== 'SIGTERM'))
      this.#processes.crashes.push(`${robot.name} ended with ${code} when it was to stop`);
  }

  /** What every process printed, for a round that fails. */
  logs(): { name: string; text: string }[] {
    return this.#processes.all.map(({ name, process }, at) => ({ name: `${at}-${name}`, text: process.text() }));
  }

  /** Ends everything in order. */
  async stop(): Promise<void> {
    await Promise.all(this.robots.map((robot) => this.stopRobot(robot)));
    this.#processes.expectEnd(this.cloud.process);
    const code = await this.cloud.process.stop();
    if (code !== 0) this.#processes.crashes.push(`the cloud ended with ${code} when it was to stop`);
  }

  /** Ends what still runs and removes all files. */
  async discard(): Promise<void> {
    for (const { process } of this.#processes.all) this.#processes.expectEnd(process);
    await Promise.all(this.#processes.all.map(({ process }) => process.kill9()));
    await Promise.all(this.robots.map((robot) => robot.proxy.stop()));
    const dirs = [this.#dir, this.cloud.dataDir, ...this.robots.map((robot) => robot.agent.dataDir)];
    await Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true })));
  }
}
