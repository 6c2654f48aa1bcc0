import { randomBytes } from 'node:crypto';
import type { Command, CommandOutcome } from '@drover/shared/link/command';
import type { UpMessage } from '@drover/shared/link/up';
import { onTestFinished } from 'vitest';
import { CloudClock } from '../link/cloud-clock.js';
import { NO_RULES, Policy } from '../policy/policy.js';
import { type GoalHandle, GraphStoppedError, type RosGraph } from '../ros/graph.js';
import { createSimulatedGraph, type SimulatedGraph } from '../ros/simulated/graph.js';
import { simulatedPeer } from '../ros/simulated/peer.fixture.js';
import type { GraphPeer } from '../ros/testing/peer.js';
import { freshUuid, silent, tempDataDir, topicCommand } from '../spool/fixture.js';
import type { Inbox } from '../spool/inbox.js';
import { openInbox } from '../spool/open.js';
import { CommandRunner } from './runner.js';

export const SET_BOOL = 'std_srvs/srv/SetBool';
const FIBONACCI = 'test_msgs/action/Fibonacci';

/** A cloud that hears what the runner says and acknowledges outcomes unless told not to. */
export class Ear {
  readonly heard: UpMessage[] = [];
  #wake = () => {};
  constructor(readonly onOutcome: (outcome: CommandOutcome) => void = () => {}) {}

  send(message: UpMessage): void {
    this.heard.push(message);
    if (message.kind === 'command_outcome') this.onOutcome(message);
    this.#wake();
  }

  /** As it is in the inbox: without the version that it was sent with. */
  async outcome(uuid: string): Promise<CommandOutcome> {
    for (;;) {
      for (const message of this.heard) {
        if (message.kind !== 'command_outcome' || message.uuid !== uuid) continue;
        const { inbox_version: _, ...outcome } = message;
        return outcome;
      }
      await this.changed();
    }
  }

  async until(condition: (heard: readonly UpMessage[]) => boolean): Promise<void> {
    while (!condition(this.heard)) await this.changed();
  }

  kinds(uuid: string): string[] {
    return this.heard.flatMap((message) => ('uuid' in message && message.uuid === uuid ? [message.kind] : []));
  }

  private changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
interface SetUpOptions {
  readonly dataDir?: string;
  readonly inbox?: Inbox;
  readonly policy?: Policy;
  readonly connect?: boolean;
  readonly acknowledge?: boolean;
  /** The graph and the peer of a run of the agent that crashed. */
  readonly world?: { readonly graph: SimulatedGraph; readonly peer: GraphPeer };
  readonly wallNow?: () => number;
}

async function newWorld() {
  const graph = createSimulatedGraph({ onFault: () => {} });
  await graph.start();
  return { graph, peer: simulatedPeer(graph) };
}

/** A runner on a simulated graph, with a peer on it, and a cloud that listens. */
export async function setUp(overrides: SetUpOptions = {}) {
  const { graph, peer } = overrides.world ?? (await newWorld());
  const { port, leave } = portOf(graph);
  const { stop: stopRunner, ...made } = runnerOn(port, overrides);
  let stopped = false;
  /** As a kill would: nothing more is written. */
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await graph.stop();
    await stopRunner();
  };
  /** The same, but the graph and all that runs on it goes on: `world` of the next setUp. */
  const crash = async () => {
    stopped = true;
    leave();
    await stopRunner();
  };
  onTestFinished(stop);
  return { ...made, graph, peer, stop, crash };
}

/** A runner on a graph that others stop, and a cloud that listens. */
export function runnerOn(graph: RosGraph, overrides: Omit<SetUpOptions, 'world'> = {}) {
  const dataDir = overrides.dataDir ?? tempDataDir();
  const monotonicNow = () => performance.now();
  const inbox = overrides.inbox ?? openInbox({ dataDir, newId: freshUuid, now: Date.now, monotonicNow, log: silent });
  const clock = new CloudClock(monotonicNow, Date.now);
  const cloudNow = Date.now();
  const now = monotonicNow();
  clock.add({ sentMs: now, receivedMs: now, cloudReceivedMs: cloudNow, cloudSentMs: cloudNow });
  const runner = new CommandRunner({
    graph,
    policy: overrides.policy ?? new Policy(NO_RULES),
    inbox,
    clock,
    monotonicNow,
    wallNow: overrides.wallNow ?? Date.now,
    newGoalId: () => new Uint8Array(randomBytes(16)),
    log: silent,
  });
  runner.recover();
  const ear = new Ear((outcome) => {
    if (overrides.acknowledge !== false) queueMicrotask(() => runner.outcomeStored(outcome.uuid));
  });
  if (overrides.connect !== false) runner.opened(ear);
  const stop = async () => {
    await runner.stop();
    inbox.close();
  };
  const run = async (overrides: Partial<Command> = {}) => {
    const command = topicCommand(overrides);
    runner.receive(command);
    return await ear.outcome(command.uuid);
  };
  return { inbox, runner, ear, run, stop, dataDir };
}

/** A graph as one run of the agent has it: what that waits for ends when it leaves, and the graph goes on. */
function portOf(graph: SimulatedGraph): { port: RosGraph; leave: () => void } {
  let leave = () => {};
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(new GraphStoppedError());
  });
  left.catch(() => {});
  const orLeft = (handle: GoalHandle): GoalHandle => ({ ...handle, result: Promise.race([handle.result, left]) });
  const goals: Pick<RosGraph, 'sendGoal' | 'resumeGoal'> = {
    sendGoal: async (request) => orLeft(await Promise.race([graph.sendGoal(request), left])),
    resumeGoal: async (request) => orLeft(await Promise.race([graph.resumeGoal(request), left])),
  };
  const port = new Proxy<RosGraph>(graph, {
    get: (_, key) => {
      const value: unknown = Reflect.get(key in goals ? goals : graph, key);
      return typeof value === 'function' ? value.bind(graph) : value;
    },
  });
  return { port, leave };
}

export const setBool = (overrides: Partial<Command> = {}): Partial<Command> => ({
  interface: 'service',
  name: '/motors',
  type: SET_BOOL,
  payload: { data: true },
  timeout_ms: 30_000,
  ...overrides,
});
export const goal = (overrides: Partial<Command> = {}): Partial<Command> => ({
  interface: 'action_send_goal',
  name: '/fibonacci',
  type: FIBONACCI,
  payload: { order: 5 },
  timeout_ms: 60_000,
  ...overrides,
});
