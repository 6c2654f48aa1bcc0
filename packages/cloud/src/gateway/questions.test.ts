import type { DownMessage } from '@drover/shared/link/down';
import type { Answer, Query } from '@drover/shared/link/query';
import type { UpMessage } from '@drover/shared/link/up';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { expect, it, vi } from 'vitest';
import type { NoAnswerError } from '../graph/no-answer.js';
import { ANSWER_TIMEOUT_MS, QUESTIONS_PER_ROBOT_MAX } from './open-questions.js';
import { QUESTIONS_MAX, SessionRegistry } from './registry.js';
import { RobotSession } from './session.js';
import type { SessionConnection } from './session-ports.js';
import { hello, NO_COMPOSE, NO_LINKS } from './test-peer.js';

const GRAPH = { about: 'graph' } as const;

/** A robot with an open session, which answers nothing by itself. */
async function connect(registry: SessionRegistry, key: number, linkVersion = 2) {
  const sent: DownMessage[] = [];
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const connection: SessionConnection = {
    isOpen: true,
    unsentBytes: 0,
    send: (message) => {
      sent.push(message);
      if (message.kind === 'welcome') open();
    },
    sendLater: () => {},
    close: () => {},
    terminate: () => {},
    tick: () => {},
    pause: () => {},
    resume: () => {},
  };
  const robot = { key, id: `rover-${key}`, tenantKey: 1, tenantUuid: uuidv7(), createdAtMs: 0 };
  const session = new RobotSession(robot, connection, {
    robots: { sessionStarted: async () => {} },
    desired: { forRobot: () => new Promise(() => {}) },
    data: { write: async () => 0, isBusy: false, resume: async () => ({ live: 0, backfill: 0 }) },
    commands: {
      inboxSeen: async () => 'current',
      deliverable: async () => ({ commands: [], cancels: [], more: false }),
      taken: async () => {},
      feedback: async () => {},
      ended: async () => {},
    },
    streams: { reported: () => {} },
    links: NO_LINKS,
    compose: NO_COMPOSE,
    admit: (admitted) => void registry.take(admitted),
    gone: (ended) => void registry.release(ended),
    log: pino({ level: 'silent' }),
    now: Date.now,
  });
  session.accept({ ...hello(), link_version: linkVersion } as UpMessage);
  await opened;
  return { session, queries: () => sent.filter((message): message is Query => message.kind === 'query') };
}

const answerTo = (query: Query | undefined, result: unknown): Answer => ({
  kind: 'answer',
  id: query?.id ?? '',
  result,
  error: null,
});
const reasonOf = (asking: Promise<Answer>) =>
  asking.then(
    () => 'answered',
    (error: NoAnswerError) => error.reason,
  );

it('brings each answer to who asked for it, in whatever order they come', async () => {
  const registry = new SessionRegistry();
  const { session, queries } = await connect(registry, 1);
  const [one, other] = [registry.ask(1, GRAPH), registry.ask(1, { about: 'interface', type: 'a_msgs/msg/A' })];
  expect(queries().map(({ question }) => question.about)).toEqual(['graph', 'interface']);
  session.accept(answerTo(queries()[1], 'second'));
  session.accept(answerTo(queries()[0], 'first'));
  expect((await one).result).toBe('first');
  expect((await other).result).toBe('second');
});

it('takes no harm from answers that nobody waits for', async () => {
  const registry = new SessionRegistry();
  const { session, queries } = await connect(registry, 1);
  session.accept(answerTo(undefined, 'unasked'));
  const asking = registry.ask(1, GRAPH);
  session.accept(answerTo(queries()[0], 'once'));
  session.accept(answerTo(queries()[0], 'twice'));
  expect((await asking).result).toBe('once');
});

it('asks nobody who is not there, or whose agent does not know questions', async () => {
  const registry = new SessionRegistry();
  expect(await reasonOf(registry.ask(1, GRAPH))).toBe('offline');
  const { queries } = await connect(registry, 1, 1);
  expect(await reasonOf(registry.ask(1, GRAPH))).toBe('too_old');
  expect(queries()).toEqual([]);
});

it('ends a question with the session it was asked in', async () => {
  const registry = new SessionRegistry();
  const { session } = await connect(registry, 1);
  const asking = reasonOf(registry.ask(1, GRAPH));
  session.ended('reset');
  expect(await asking).toBe('offline');
});

it('ends a question when its time is over, and takes another then', async () => {
  vi.useFakeTimers();
  try {
    const registry = new SessionRegistry();
    await connect(registry, 1);
    const asking = Array.from({ length: QUESTIONS_PER_ROBOT_MAX }, () => reasonOf(registry.ask(1, GRAPH)));
    expect(await reasonOf(registry.ask(1, GRAPH))).toBe('busy');
    await vi.advanceTimersByTimeAsync(ANSWER_TIMEOUT_MS);
    expect(new Set(await Promise.all(asking))).toEqual(new Set(['timeout']));
    void registry.ask(1, GRAPH).catch(() => {});
    expect(vi.getTimerCount()).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

it('keeps so many questions of all robots and no more', async () => {
  const registry = new SessionRegistry();
  const robots = Math.ceil(QUESTIONS_MAX / QUESTIONS_PER_ROBOT_MAX);
  const connected = await Promise.all(Array.from({ length: robots + 1 }, (_, key) => connect(registry, key)));
  const asking: Promise<string>[] = [];
  for (let n = 0; n < QUESTIONS_MAX; n += 1) {
    asking.push(reasonOf(registry.ask(Math.floor(n / QUESTIONS_PER_ROBOT_MAX), GRAPH)));
  }
  expect(await reasonOf(registry.ask(robots, GRAPH))).toBe('busy');
  for (const { session } of connected.slice(0, robots)) session.ended('reset');
  expect(new Set(await Promise.all(asking))).toEqual(new Set(['offline']));
  const again = registry.ask(robots, GRAPH);
  connected[robots]?.session.accept(answerTo(connected[robots]?.queries()[0], 'room again'));
  expect((await again).result).toBe('room again');
});
