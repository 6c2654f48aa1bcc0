/** For tests: a cloud of testing/cloud.ts that robots can connect to. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ComposeStatus } from '@drover/shared/link/compose-status';
import { LINK_PATH, LINK_VERSION } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { type Logger, pino } from 'pino';
import type { AdmissionBounds } from '../gateway/admission.js';
import { Gateway, type GatewayOptions } from '../gateway/gateway.js';
import { SessionRegistry } from '../gateway/registry.js';
import { hello, Peer } from '../gateway/test-peer.js';
import { startTestCloud } from './cloud.js';

export type ConnectedCloud = Awaited<ReturnType<typeof startConnectedCloud>>;

export interface ConnectedCloudOptions {
  dataDir?: string;
  admission?: Partial<AdmissionBounds>;
  timings?: GatewayOptions['timings'];
  monotonicNow?: () => number;
  log?: Logger;
}

export async function startConnectedCloud(options: ConnectedCloudOptions = {}) {
  const registry = new SessionRegistry();
  const cloud = await startTestCloud({ ...options, inboxes: registry, questions: registry });
  const { services, bus } = cloud;
  let refused = 0;
  const gateway = new Gateway({
    ...{ registry, bus, robots: services.robots, desired: services.desired, data: services.writer },
    ...{ commands: services.commands, streams: services.streamReports, links: services.links },
    ...{ compose: services.composeReports, unstoredPresence: cloud.unstored },
    ...(options.admission && { admission: options.admission }),
    ...(options.timings && { timings: options.timings }),
    onRefused: () => {
      refused += 1;
    },
    log: options.log ?? pino({ level: 'silent' }),
    now: () => cloud.clock.nowMs,
    monotonicNow: options.monotonicNow ?? (() => performance.now()),
  });
  await gateway.start();
  const server = createServer().listen(0, '127.0.0.1');
  gateway.attach(server);
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}${LINK_PATH}`;
  const peers: Peer[] = [];

  function peerOf(token: string): Peer {
    const peer = new Peer(url, token);
    peers.push(peer);
    return peer;
  }

  return {
    ...cloud,
    gateway,
    /** How many robots were told to come later. */
    refused: () => refused,
    /** How many connections the gateway's server has. */
    connections: () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    /** A robot's connection that has said nothing yet. */
    peer: peerOf,
    /** A robot's session, once it has its first desired state; `clockAheadMs`: of its clock to ours. */
    async connect(token: string, { linkVersion = LINK_VERSION, clockAheadMs = 0 } = {}) {
      const peer = peerOf(token);
      await new Promise((resolve) => peer.socket.once('open', resolve));
      const robotNow = cloud.clock.nowMs + clockAheadMs;
      peer.say({ ...hello(), link_version: linkVersion, robot_now_ms: robotNow } as UpMessage);
      await peer.next('welcome');
      return { peer, desired: await peer.next('desired') };
    },
    async stop() {
      for (const peer of peers) peer.socket.terminate();
      await gateway.stop();
      server.close();
      await cloud.stop();
    },
  };
}

/** What a robot would say of an assignment that is up and all well. */
export function composeStatus(assignment: string, overrides: Partial<ComposeStatus> = {}): ComposeStatus {
  return {
    kind: 'compose_status',
    assignment,
    state: 'up',
    error_code: null,
    error_message: null,
    phase: 'idle',
    running: null,
    failed: null,
    images: [],
    services: [],
    engine_words: null,
    held_by: null,
    ...overrides,
  };
}
