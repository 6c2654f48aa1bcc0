import type { DownMessage } from '@drover/shared/link/down';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RobotSession, type SessionConnection } from './session.js';
import { hello } from './test-peer.js';

const ROBOT = { key: 1, id: 'rover-1', tenantKey: 1, tenantUuid: uuidv7() };

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

  beforeEach(async () => {
    connection = new Noted();
    writing = [];
    session = new RobotSession(ROBOT, connection, {
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
      data: { write: async () => 0, acked: async () => ({ live: 0, backfill: 0 }) },
      commands: {
        inboxSeen: async () => {},
        deliverable: async () => ({ commands: [], cancels: [] }),
        taken: async () => {},
        feedback: async () => {},
        ended: () => new Promise<void>((resolve) => writing.push(resolve)),
      },
      streams: { reported: () => {} },
      admit: () => {},
      gone: () => {},
      log: pino({ level: 'silent' }),
      now: Date.now,
    });
    const welcomed = new Promise<void>((resolve) => {
      connection.welcomed = resolve;
    });
    session.accept(hello());
    await welcomed;
  });

  afterEach(() => session.ended('clean'));

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

  it('answers the clock requests of a robot that reads, and not of one that lets much wait', () => {
    const ask = () => session.accept({ kind: 'clock_request', robot_sent_ms: 5, measured: null });
    const answers = () => connection.sent.filter(({ kind }) => kind === 'clock_reply').length;
    ask();
    expect(answers()).toBe(1);
    connection.unsentBytes = 1_000_000;
    ask();
    expect(answers()).toBe(1);
  });
});
