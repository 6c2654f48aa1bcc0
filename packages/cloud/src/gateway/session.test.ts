import type { DownMessage } from '@drover/shared/link/down';
import type { UpMessage } from '@drover/shared/link/up';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeliverableCommand } from '../commands/commands.js';
import { RobotSession, type SessionOptions } from './session.js';
import type { SessionConnection } from './session-ports.js';
import { hello, INBOX, NO_COMPOSE, NO_LINKS, SPOOL } from './test-peer.js';

const ROBOT = { key: 1, id: 'rover-1', tenantKey: 1, tenantUuid: uuidv7(), createdAtMs: 0 };

/** A connection that notes what the session does with it. */
class Noted implements SessionConnection {
  readonly sent: DownMessage[] = [];
  isOpen = true;
  unsentBytes = 0;
  isPaused = false;
  welcomed: () => void = () => {};
  send(message: DownMessage): void {
    this.sent.push(message);
    if (message.kind === 'desired') this.welcomed();
  }
  sendLater(message: DownMessage): void {
    this.send(message);
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
  }
  close(): void {
    this.isOpen = false;
  }
  terminate(): void {}
  tick(): void {}
}

describe('a session', () => {
  let connection: Noted;
  let session: RobotSession;
  /** Ends of commands that the store has been asked to write, and has not yet. */
  let writing: (() => void)[];
  /** What was told of the link. */
  let heard: string[];
  let begin: (greeting: UpMessage) => Promise<void>;
  let waiting: DeliverableCommand[];
  let disk: { isBusy: boolean };

  beforeEach(async () => {
    connection = new Noted();
    writing = [];
    heard = [];
    waiting = [];
    disk = { isBusy: false };
    const ports: SessionOptions = {
      robots: { sessionStarted: async () => {} },
      desired: {
        forRobot: async () => ({
          kind: 'desired',
          revision: 1,
          vitals: { enabled: true, period_s: 5 },
          logs: { enabled: true, min_level: 'info' },
          streams: [],
          compose: null,
        }),
      },
      data: {
        write: (_robot, { lane, first_seq }, _receivedMs, opens) => {
          heard.push(`${lane} ${first_seq} ${opens ? 'anywhere' : 'next'}`);
          return new Promise((resolve) => writing.push(() => resolve(1)));
        },
        get isBusy() {
          return disk.isBusy;
        },
        resume: async () => ({ live: 0, backfill: 0 }),
      },
      commands: {
        inboxSeen: async () => 'current',
        deliverable: async (_robot, _inbox, written) => {
          const due = waiting.filter(({ uuid }) => !written.has(uuid));
          return { commands: due.slice(0, 2), cancels: [], more: due.length > 2 };
        },
        taken: async () => {},
        feedback: async () => {},
        ended: () => new Promise<void>((resolve) => writing.push(resolve)),
      },
      streams: { reported: (_robot, { spool_id }) => void heard.push(`drops of ${spool_id}`) },
      links: {
        ...NO_LINKS,
        clockMeasured: (_robot, { offset_ms }) => void heard.push(`clock ${offset_ms}`),
        reported: (_robot, { spool }, offsetMs) => void heard.push(`spool ${spool.rows} at ${offsetMs}`),
      },
      compose: NO_COMPOSE,
      admit: () => {},
      gone: () => {},
      log: pino({ level: 'silent' }),
      now: Date.now,
    };
    begin = async (greeting) => {
      session = new RobotSession(ROBOT, connection, ports);
      const welcomed = new Promise<void>((resolve) => {
        connection.welcomed = resolve;
      });
      session.accept(greeting);
      await welcomed;
    };
    await begin(hello());
  });

  afterEach(() => session.ended('clean'));

  it('lets only the first batch of a lane begin anywhere, and none where the robot has said what it holds', async () => {
    const batches = () => {
      for (const [lane, firstSeq] of [
        ['live', 7],
        ['live', 8],
        ['backfill', 3],
      ] as const) {
        const rest = { clock: null, schemas: [], channels: [], rows: [{ kind: 'gone' as const }] };
        session.accept({ kind: 'batch', spool_id: SPOOL, lane, first_seq: firstSeq, ...rest });
      }
    };
    batches();
    expect(heard.splice(0)).toEqual(['live 7 anywhere', 'live 8 next', 'backfill 3 anywhere']);
    session.ended('clean');
    const spool = { id: SPOOL, last_seq: { live: 9, backfill: 9 }, first_seq: { live: 7, backfill: 3 } };
    await begin({ ...hello(), spool } as UpMessage);
    batches();
    expect(heard).toEqual(['live 7 next', 'live 8 next', 'backfill 3 next']);
  });

  function aCommand(): DeliverableCommand {
    return {
      uuid: uuidv7(),
      ...{ interface: 'topic', name: '/cmd_vel', type: 'geometry_msgs/msg/Twist', payload: {} },
      ...{ deadline_cloud_ms: Date.now() + 5_000, timeout_ms: 10_000, latched: false },
    };
  }
  const written = () => connection.sent.flatMap((message) => (message.kind === 'command' ? [message.uuid] : []));
  /** The session's looks into the store are over. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it('writes a new command at once, once, and only for the inbox that it speaks for', async () => {
    await settled();
    const command = aCommand();
    expect(session.offered(INBOX, command)).toBe(true);
    expect(written()).toEqual([command.uuid]);
    waiting.push(command);
    session.commandsWaiting();
    await settled();
    expect(written()).toEqual([command.uuid]);
    expect(session.offered(uuidv7(), aCommand())).toBe(false);
    expect(written()).toEqual([command.uuid]);
  });

  it('writes a new command once though it found it in the store before it was offered', async () => {
    await settled();
    const command = aCommand();
    waiting.push(command);
    session.commandsWaiting();
    await settled();
    expect(session.offered(INBOX, command)).toBe(true);
    expect(written()).toEqual([command.uuid]);
  });

  it('writes no new command before one that waits in the store', async () => {
    await settled();
    const [first, second, third] = [aCommand(), aCommand(), aCommand()];
    // Stored while the session looked, too late for that look: it is announced, and the others come before it is heard.
    session.commandsWaiting();
    expect(session.offered(INBOX, first)).toBe(false);
    await settled();
    expect(session.offered(INBOX, second)).toBe(false);
    waiting.push(first, second);
    session.commandsWaiting();
    await settled();
    expect(session.offered(INBOX, third)).toBe(true);
    expect(written()).toEqual([first.uuid, second.uuid, third.uuid]);
  });

  it('leaves new commands in the store while the robot does not read', async () => {
    await settled();
    connection.unsentBytes = 2 * 1024 * 1024;
    const command = aCommand();
    expect(session.offered(INBOX, command)).toBe(false);
    waiting.push(command);
    connection.unsentBytes = 0;
    session.flushed();
    await settled();
    expect(written()).toEqual([command.uuid]);
  });

  it('takes no batch of a spool that hello did not name: each would be remembered for as long as the robot', () => {
    const rest = { clock: null, schemas: [], channels: [], rows: [{ kind: 'gone' as const }] };
    session.accept({ kind: 'batch', spool_id: uuidv7(), lane: 'live', first_seq: 1, ...rest });
    expect([heard, connection.isOpen]).toEqual([[], false]);
  });

  function sendOutcome(): void {
    session.accept({
      kind: 'command_outcome',
      uuid: uuidv7(),
      state: 'executed',
      error_code: null,
      message: null,
      result: null,
      feedback: null,
      finished_robot_ms: 1,
    });
  }

  it('stops reading a robot whose outcomes the store does not keep up with, and reads on when it has', async () => {
    let sent = 0;
    while (!connection.isPaused && sent < 10_000) {
      sendOutcome();
      sent += 1;
    }
    expect(sent).toBe(128);
    for (const written of writing) written();
    await expect.poll(() => connection.isPaused).toBe(false);
    expect(connection.sent.filter(({ kind }) => kind === 'outcome_ack')).toHaveLength(sent);
  });

  function sendBatch(bytes: number): void {
    session.accept({
      kind: 'batch',
      spool_id: SPOOL,
      lane: 'live',
      first_seq: 1,
      clock: null,
      schemas: [],
      channels: [],
      rows: [{ kind: 'point', channel: 0, robot_stamp_ms: 1, cdr: new Uint8Array(bytes) }],
    });
  }

  it('stops reading a robot whose data the disk does not keep up with, and reads on when it has', async () => {
    let sent = 0;
    while (!connection.isPaused && sent < 64) {
      sendBatch(512 * 1024);
      sent += 1;
    }
    expect(sent).toBe(8);
    for (const written of writing) written();
    await expect.poll(() => connection.isPaused).toBe(false);
  });

  it('reads no robot on whose data waits while the disk is busy with others', async () => {
    disk.isBusy = true;
    sendBatch(10);
    expect(connection.isPaused).toBe(true);
    for (const written of writing) written();
    await expect.poll(() => connection.isPaused).toBe(false);
  });

  it('keeps commands in the store while the robot does not read, and sends them once it does, each once', async () => {
    const delivered = () => connection.sent.flatMap((message) => (message.kind === 'command' ? [message.name] : []));
    connection.unsentBytes = 2_000_000;
    waiting = ['/a', '/b', '/c'].map((name) => ({
      uuid: uuidv7(),
      interface: 'topic',
      name,
      type: 'std_msgs/msg/Empty',
      payload: {},
      deadline_cloud_ms: Date.now() + 5_000,
      timeout_ms: 10_000,
      latched: false,
    }));
    session.commandsWaiting();
    session.flushed();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(delivered()).toEqual([]);
    connection.unsentBytes = 0;
    session.flushed();
    await expect.poll(delivered).toEqual(['/a', '/b', '/c']);
    session.commandsWaiting();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(delivered()).toHaveLength(3);
  });

  it('answers the clock requests of a robot that reads, and not of one that lets much wait', () => {
    const ask = () => session.accept({ kind: 'clock_request', robot_sent_ms: 5, measured: null });
    const answers = () => connection.sent.filter(({ kind }) => kind === 'clock_reply').length;
    ask();
    expect(answers()).toBe(1);
    connection.unsentBytes = 1_000_000;
    ask();
    expect(answers()).toBe(1);
  });

  it('tells what the robot measured of its clock, and takes the spool by it', () => {
    const clock = { offset_ms: 5_000, uncertainty_ms: 2 };
    session.accept({ kind: 'clock_request', robot_sent_ms: 1, measured: clock });
    const spool = { id: SPOOL, rows: 3, bytes: 300, bytes_max: 1_000, oldest_robot_ms: 1 };
    session.accept({ kind: 'link_status', clock: { ...clock, offset_ms: 6_000 }, spool, drops: [] });
    expect(heard).toEqual(['clock 5000', 'clock 6000', 'spool 3 at 6000']);
  });

  it('takes the drops of streams as those of the spool that is named with them, else of the one in hello', () => {
    session.accept({ kind: 'stream_status', streams: [] });
    session.accept({ kind: 'stream_status', streams: [], spool_id: INBOX });
    expect(heard).toEqual([`drops of ${SPOOL}`, `drops of ${INBOX}`]);
  });
});
