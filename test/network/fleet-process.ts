/**
 * Many robots in one process: for each token the agent's own link (connect, heartbeat, silence, backoff), without ROS and
 * disk; a command is taken and told as executed at once. Prints a JSON line for each attempt and each session: what a
 * reconnect storm is measured by. `node fleet-process.js URL < tokens, one a line`; ends with its standard input's end, or SIGTERM.
 */
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { CloudClock } from '@drover/agent/dist/link/cloud-clock.js';
import { type Instruction, Link, type LinkClient, type Uplink } from '@drover/agent/dist/link/link.js';
import { LINK_VERSION } from '@drover/shared/link/protocol';
import { RELEASE_DATE } from '@drover/shared/release';
import type { Logger } from 'pino';

/** What is printed; `at` is the wall clock, which all processes of a machine share. */
export interface FleetEvent {
  /** `failed`: an attempt ended without a session. */
  readonly event: 'attempt' | 'opened' | 'closed' | 'failed';
  readonly robot: number;
  readonly at: number;
  /** Of an attempt that failed: in the agent's words, and when the cloud told it to come again. */
  readonly why?: string;
  readonly retryAfterS?: number;
}

function say(event: FleetEvent['event'], robot: number, more: Pick<FleetEvent, 'why' | 'retryAfterS'> = {}): void {
  process.stdout.write(`${JSON.stringify({ event, robot, at: Date.now(), ...more } satisfies FleetEvent)}\n`);
}

/** What the agent says to the link: an inbox and a spool of its own, both empty. */
function clientOf(robot: number): LinkClient {
  const inbox = { id: randomUUID(), last_seq: 0 };
  const spool = { id: randomUUID(), last_seq: { live: 0, backfill: 0 } };
  let uplink: Uplink | null = null;
  return {
    hello: () => ({
      kind: 'hello',
      link_version: LINK_VERSION,
      agent_version: RELEASE_DATE,
      robot_now_ms: Date.now(),
      inbox: { ...inbox },
      spool,
      ros: { graph: 'simulated', distro: null },
      desired_revision: null,
    }),
    opened: (opened) => {
      uplink = opened;
      hasOpened.add(robot);
      say('opened', robot);
      return null;
    },
    receive: (instruction: Instruction) => {
      if (instruction.kind !== 'command') return;
      const { uuid } = instruction;
      inbox.last_seq += 1;
      uplink?.send({ kind: 'command_taken', uuid, seq: inbox.last_seq });
      const end = { state: 'executed', error_code: null, message: null, result: {}, feedback: null } as const;
      uplink?.send({ kind: 'command_outcome', uuid, ...end, finished_robot_ms: Date.now() }, uuid);
    },
    closed: () => {
      uplink = null;
      say('closed', robot);
    },
  };
}

/** Keeps silent, but for what the link says at the end of each attempt and each session: when it tries again, and why. */
function logOf(robot: number, isOpen: () => boolean): Logger {
  const line = (fields: { retryInMs?: number; retryAfterS?: number }, why: string) => {
    if (fields.retryInMs === undefined || isOpen()) return;
    say('failed', robot, { why, ...(fields.retryAfterS !== undefined && { retryAfterS: fields.retryAfterS }) });
  };
  const log = { child: () => log, info: line, warn: line, error: line, debug() {} };
  return log as unknown as Logger;
}

const monotonicNow = () => performance.now();
/** Robots whose last attempt became a session. */
const hasOpened = new Set<number>();
const [, , url = ''] = process.argv;
const links: Link[] = [];
const input = createInterface({ input: process.stdin });
input.on('line', (secret) => {
  const robot = links.length;
  const token = () => {
    hasOpened.delete(robot);
    say('attempt', robot);
    return secret;
  };
  const clock = new CloudClock(monotonicNow, Date.now);
  const client = clientOf(robot);
  const link = new Link({
    ...{ url, token, client, clock, monotonicNow },
    ...{ wallNow: Date.now, random: Math.random, log: logOf(robot, () => hasOpened.has(robot)) },
  });
  links.push(link);
  link.start();
});
input.once('close', () => void Promise.all(links.map((link) => link.stop())).then(() => process.exit(0)));
process.once('SIGTERM', () => input.close());
