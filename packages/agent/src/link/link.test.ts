import { Socket } from 'node:net';
import { CloseCode, LINK_VERSION, LINK_VERSION_OLDEST_CLOUD } from '@drover/shared/link/protocol';
import type { UpMessage } from '@drover/shared/link/up';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CloudClock } from './cloud-clock.js';
import { type Instruction, Link, type LinkOptions, type Uplink } from './link.js';
import { TestCloud } from './test-cloud.js';

const UUID = '018f0000-0000-7000-8000-000000000001';
const TOKEN = 'drt_secret-secret-secret';

let cloud: TestCloud;
let links: Link[];
let lines: string[];
beforeEach(async () => {
  cloud = await TestCloud.start();
  links = [];
  lines = [];
});
afterEach(async () => {
  await Promise.all(links.map((link) => link.stop()));
  await cloud.stop();
  expect(lines.join()).not.toContain(TOKEN);
});

/** A started link with a client that keeps what it hears. */
function startLink(overrides: Partial<LinkOptions> & { renewOnce?: boolean } = {}) {
  const heard: Instruction[] = [];
  const state = { uplink: null as Uplink | null, opened: 0, closed: 0, wake: () => {} };
  let renew = overrides.renewOnce ?? false;
  const clock = new CloudClock(() => performance.now(), Date.now);
  const link = new Link({
    url: cloud.url,
    token: () => TOKEN,
    client: {
      hello: (linkVersion) => ({
        kind: 'hello',
        link_version: linkVersion,
        agent_version: '2026-11-21',
        robot_now_ms: Date.now(),
        inbox: { id: UUID, last_seq: 0 },
        spool: { id: UUID, last_seq: { live: 0, backfill: 0 } },
        ros: { graph: 'simulated', distro: null },
        desired_revision: null,
      }),
      opened: (uplink) => {
        state.uplink = uplink;
        state.opened += 1;
        state.wake();
        const reason = renew ? 'the spool is new' : null;
        renew = false;
        return reason;
      },
      receive: (instruction) => {
        heard.push(instruction);
        state.wake();
      },
      closed: () => {
        state.closed += 1;
        state.wake();
      },
    },
    clock,
    monotonicNow: () => performance.now(),
    wallNow: Date.now,
    random: () => 0.01,
    log: pino({ level: 'debug' }, { write: (line) => void lines.push(line) }),
    timing: { retryFactor: 0.001, closeTimeoutMs: 200 },
    ...overrides,
  });
  links.push(link);
  link.start();
  const until = async (condition: () => boolean) => {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        state.wake = resolve;
      });
    }
  };
  return { link, heard, state, clock, until };
}

describe('a session', () => {
  it('presents the token and the subprotocol, says hello, and stands after welcome', async () => {
    const { state, until } = startLink();
    const session = await cloud.session();
    expect(session.headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'sec-websocket-protocol': 'drover.v1' });
    expect(await session.welcome()).toMatchObject({ link_version: LINK_VERSION, inbox: { id: UUID } });
    await until(() => state.opened === 1);
  });

  it("measures the cloud's clock three times at its start and tells what it measured", async () => {
    const { clock } = startLink();
    const session = await cloud.session();
    session.clockAheadMs = 86_400_000;
    await session.welcome();
    await session.next('clock_request');
    await session.next('clock_request');
    const third = await session.next('clock_request');
    expect(third.measured?.offset_ms).toBeGreaterThan(86_399_000);
    expect(clock.offset()?.offset_ms).toBeLessThan(86_401_000);
  });

  it('writes what it is given in one turn in one piece', async () => {
    const { state, until } = startLink();
    const session = await cloud.session();
    await session.welcome();
    await until(() => state.uplink !== null);
    for (let n = 0; n < 3; n += 1) await session.next('clock_request');
    let pieces = 0;
    const writing: { _writev(...args: unknown[]): void } = Socket.prototype as never;
    const writev = writing._writev;
    writing._writev = function (this: unknown, ...args) {
      if (this !== session.stream) pieces += 1;
      writev.apply(this, args);
    };
    onTestFinished(() => {
      writing._writev = writev;
    });
    state.uplink?.send({ kind: 'command_taken', uuid: UUID, seq: 1 });
    state.uplink?.send({ kind: 'command_taken', uuid: UUID, seq: 2 });
    await session.next('command_taken');
    await session.next('command_taken');
    expect(pieces).toBe(1);
  });

  it("carries a command's answer between the parts of a big batch", async () => {
    const { state, until } = startLink();
    const session = await cloud.session();
    await session.welcome();
    await until(() => state.uplink !== null);
    const cdr = new Uint8Array(2 * 1024 * 1024).fill(7);
    const frames: number[] = [];
    session.socket.on('message', (data: Buffer) => void frames.push(data.byteLength));
    state.uplink?.send(bigBatch(cdr));
    state.uplink?.send({ kind: 'command_taken', uuid: UUID, seq: 1 });
    await session.next('command_taken');
    expect(session.unread()).not.toContain('batch');
    const batch = await session.next('batch');
    expect(batch.rows.map((row) => row.kind === 'point' && Buffer.compare(row.cdr, cdr))).toEqual([0]);
    expect(Math.max(...frames)).toBeLessThanOrEqual(16 * 1024);
    expect(frames.length).toBeGreaterThan(128);
  });

  it('sends the newest of the messages that wait under one key, and an outcome instead of the feedback before it', async () => {
    const { state, until } = startLink();
    const session = await cloud.session();
    await session.welcome();
    await until(() => state.uplink !== null);
    const feedback = (n: number): UpMessage => ({ kind: 'command_feedback', uuid: UUID, feedback: { n } });
    state.uplink?.send(bigBatch(new Uint8Array(300_000)));
    for (const n of [1, 2, 3]) state.uplink?.send(feedback(n), UUID);
    const first = await session.next('command_feedback');
    expect(first.feedback).toEqual({ n: 3 });
    expect(session.unread()).not.toContain('command_feedback');
  });

  it('outlasts a thousand commands that are taken at once, whose messages are more than its window', async () => {
    const { state, until } = startLink();
    const session = await cloud.session();
    await session.welcome();
    await until(() => state.uplink !== null);
    let pings = 0;
    session.socket.on('ping', () => {
      pings += 1;
    });
    for (let seq = 1; seq <= 1_000; seq += 1) state.uplink?.send({ kind: 'command_taken', uuid: UUID, seq });
    for (let seq = 1; seq <= 1_000; seq += 1) {
      const told = await Promise.race([session.next('command_taken'), session.closed]);
      expect(told).toMatchObject({ seq });
    }
    // A server of ws ends a connection that has 60 pings unanswered.
    expect(pings).toBeLessThan(50);
    expect(state.closed).toBe(0);
  });

  it('is closed with a code and a reason by a text frame, a broken frame, and a message before welcome', async () => {
    startLink();
    const text = await cloud.session();
    text.socket.send('hello');
    expect(await text.closed).toMatchObject({ code: 1003 });
    const broken = await cloud.session();
    await broken.welcome();
    broken.socket.send(Buffer.from([0xc1, 1, 2]));
    expect(await broken.closed).toMatchObject({ code: 4000 });
    const early = await cloud.session();
    early.say({ kind: 'outcome_ack', uuid: UUID });
    expect(await early.closed).toMatchObject({ code: 4000, reason: 'outcome_ack before welcome' });
    await (await cloud.session()).welcome();
  });

  it('goes on when a client fails on a message', async () => {
    const { heard, until } = startLink({ monotonicNow: () => performance.now() });
    const session = await cloud.session();
    await session.welcome();
    heard.push = () => {
      heard.push = Array.prototype.push;
      throw new TypeError('a defect');
    };
    session.say({ kind: 'outcome_ack', uuid: UUID });
    session.say({ kind: 'command_cancel', uuid: UUID });
    await until(() => heard.some((instruction) => instruction.kind === 'command_cancel'));
  });

  it('is opened anew at once when what hello said is no longer true', async () => {
    const { state, until } = startLink({ renewOnce: true });
    const first = await cloud.session();
    await first.welcome();
    expect(await first.closed).toMatchObject({ code: 1000, reason: 'the spool is new' });
    await (await cloud.session()).welcome();
    await until(() => state.opened === 2 && state.closed === 1);
  });

  it('is ended when the cloud falls silent, but not while bytes of a frame still come', async () => {
    const timing = { silenceMaxMs: 1_500, tickMs: 50, pingIntervalMs: 10_000, clockIntervalMs: 60_000, retryFactor: 0 };
    const { state, until } = startLink({ timing });
    const session = await cloud.session();
    await session.welcome();
    await until(() => state.opened === 1);
    for (let i = 0; i < 3; i += 1) await session.next('clock_request');
    // A frame of 200 bytes, one byte at a time, over more than silenceMaxMs.
    const frame = Buffer.concat([Buffer.from([0x82, 126, 0, 200]), Buffer.alloc(200)]);
    for (let i = 0; i < 10; i += 1) {
      session.stream.write(frame.subarray(i, i + 1));
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(state.closed).toBe(0);
    await until(() => state.closed === 1);
    expect(lines.join()).toContain('nothing heard for 1.5 s');
  });

  it('is closed in order by stop()', async () => {
    const { link } = startLink();
    const session = await cloud.session();
    await session.welcome();
    await link.stop();
    expect(await session.closed).toMatchObject({ code: 1001 });
  });
});

describe('reconnecting', () => {
  it('follows a session that was cut without a close', async () => {
    const { state, until } = startLink();
    const first = await cloud.session();
    await first.welcome();
    await until(() => state.opened === 1);
    first.stream.resetAndDestroy();
    await (await cloud.session()).welcome();
    await until(() => state.opened === 2);
  });

  it('goes on after a refused token, and says what to do about it', async () => {
    cloud.refuseWith = 401;
    startLink();
    await cloud.until(() => cloud.attempts >= 2);
    cloud.refuseWith = null;
    await (await cloud.session()).welcome();
    expect(lines.join()).toMatch(/refuses the robot's token.*DROVER_TOKEN/);
  });

  it('yields after it was replaced: says so, and asks only for a free place', async () => {
    startLink();
    const first = await cloud.session();
    expect(first.headers).not.toHaveProperty('drover-yield');
    await first.welcome();
    cloud.refuseWith = 409;
    first.socket.close(4003, 'a newer session');
    await cloud.until(() => cloud.attempts >= 3);
    // A cloud that is away for a moment says nothing of the other agent.
    cloud.refuseWith = 503;
    await cloud.until(() => cloud.attempts >= 5);
    cloud.refuseWith = null;
    const second = await cloud.session();
    expect(second.headers).toMatchObject({ 'drover-yield': '1' });
    await second.welcome();
    second.stream.resetAndDestroy();
    expect((await cloud.session()).headers).not.toHaveProperty('drover-yield');
    expect(lines.join()).toContain("another agent connected with this robot's token and took over");
  });

  it('speaks with an older cloud in its version, and with the next one in the newest again', async () => {
    startLink();
    const first = await cloud.session();
    expect((await first.next('hello')).link_version).toBe(LINK_VERSION);
    first.socket.close(CloseCode.unsupportedVersion, 'this cloud serves older ones');
    const second = await cloud.session();
    expect((await second.welcome()).link_version).toBe(LINK_VERSION - 1);
    second.stream.resetAndDestroy();
    expect((await (await cloud.session()).welcome()).link_version).toBe(LINK_VERSION);
  });

  it('says which side to update when the versions do not match, and tries from the newest on again', async () => {
    startLink();
    for (let version = LINK_VERSION; version >= LINK_VERSION_OLDEST_CLOUD; version -= 1) {
      const session = await cloud.session();
      expect((await session.next('hello')).link_version).toBe(version);
      expect(lines.join()).not.toContain('agent and cloud do not match');
      session.socket.close(
        CloseCode.unsupportedVersion,
        `link version ${version}; this cloud serves 8 to 9: update the agent`,
      );
    }
    expect((await (await cloud.session()).next('hello')).link_version).toBe(LINK_VERSION);
    expect(lines.join()).toContain('this cloud serves 8 to 9: update the agent');
    expect(lines.join()).toContain('agent and cloud do not match');
  });

  it('waits for a token that can not be read', async () => {
    let readable = false;
    startLink({
      token: () => {
        if (readable) return TOKEN;
        readable = true;
        throw new TypeError('no file');
      },
    });
    await (await cloud.session()).welcome();
    expect(lines.join()).toContain('no file');
  });
});

function bigBatch(cdr: Uint8Array): UpMessage {
  const hash = 'a'.repeat(64);
  return {
    kind: 'batch',
    spool_id: UUID,
    lane: 'live',
    first_seq: 1,
    clock: null,
    schemas: [],
    channels: [{ source: '/scan', type: 'sensor_msgs/msg/Image', schema_hash: hash, publisher: null }],
    rows: [{ kind: 'point', channel: 0, robot_stamp_ms: 1, cdr: cdr as Uint8Array<ArrayBuffer> }],
  };
}
