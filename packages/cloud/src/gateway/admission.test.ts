import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';
import { Admission, type AdmissionBounds, type Place } from './admission.js';
import { hello, type Peer } from './test-peer.js';

describe('more robots at once than can be opened', () => {
  let cloud: ConnectedCloud;
  afterEach(() => cloud.stop());

  async function tokensOf(count: number, admission: Partial<AdmissionBounds>): Promise<string[]> {
    cloud = await startConnectedCloud({ admission });
    const tokens: string[] = [];
    for (let at = 0; at < count; at += 1) tokens.push((await cloud.robot(`rover-${at}`)).token);
    return tokens;
  }

  /** Keeps the store to itself, so that no session gets on, until it is given back. */
  async function holdStore(): Promise<() => Promise<void>> {
    let release = () => {};
    let held: Promise<void> = Promise.resolve();
    await new Promise<void>((begun) => {
      held = cloud.store.db.connection().execute(async () => {
        begun();
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      });
    });
    return async () => {
      release();
      await held;
    };
  }

  /** Keeps sessions from getting on after their hello; with the robots that have come so far. */
  function holdOpenings(): { begun: () => string[]; release: () => void } {
    const { robots } = cloud.services;
    const original = robots.sessionStarted.bind(robots);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const started = vi.spyOn(robots, 'sessionStarted').mockImplementation(async (key, version) => {
      await released;
      await original(key, version);
    });
    return { begun: () => started.mock.calls.map(([key]) => `rover-${key - 1}`), release };
  }

  /** A robot that calls once: its welcome, or what it was refused with. */
  function call(token: string): { peer: Peer; answer: Promise<'welcome' | { status: number; retryAfter: number }> } {
    const peer = cloud.peer(token);
    const answer = new Promise<'welcome' | { status: number; retryAfter: number }>((resolve) => {
      peer.socket.once('open', () => {
        peer.say(hello());
        void peer.next('welcome').then(() => resolve('welcome'));
      });
      peer.socket.once('unexpected-response', (_request, response: IncomingMessage) => {
        peer.socket.terminate();
        resolve({ status: response.statusCode ?? 0, retryAfter: Number(response.headers['retry-after']) });
      });
    });
    return { peer, answer };
  }

  async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  it('are refused at once and told when to come again, and are all back in the end', async () => {
    const tokens = await tokensOf(20, { openingMax: 2, waitingMax: 3 });
    const openings = holdOpenings();
    const calls = tokens.map((token) => ({ token, ...call(token) }));
    await until(() => cloud.refused() === 15 && openings.begun().length === 2);
    openings.release();
    let answers = await Promise.all(calls.map(async ({ token, answer }) => ({ token, answer: await answer })));
    const refusals = answers.filter(({ answer }) => answer !== 'welcome');
    expect(refusals).toHaveLength(15);
    for (const { answer } of refusals)
      expect(answer).toMatchObject({ status: 503, retryAfter: expect.toSatisfy(isSoon) });
    for (let left = refusals; left.length > 0; left = answers.filter(({ answer }) => answer !== 'welcome')) {
      answers = await Promise.all(left.map(async ({ token }) => ({ token, answer: await call(token).answer })));
    }
    await until(async () => (await cloud.get<{ online: boolean }[]>('/robots')).body.every(({ online }) => online));
  });

  it('are not kept out by many that have no valid token', async () => {
    const [token = ''] = await tokensOf(1, { openingMax: 1, waitingMax: 2 });
    const release = await holdStore();
    const bad = Array.from({ length: 10 }, (_, at) => call(`drt_nobody-knows-this-${at}`));
    await until(async () => (await cloud.connections()) === 10);
    const good = call(token);
    await until(async () => (await cloud.connections()) === 11);
    await release();
    expect(await good.answer).toBe('welcome');
    for (const { answer } of bad) expect(await answer).toMatchObject({ status: 401 });
    expect(cloud.refused()).toBe(0);
  });

  it('are refused where as many tokens are being looked up already', async () => {
    const [token = '', other = ''] = await tokensOf(2, { lookUpsMax: 1 });
    const asked = vi.spyOn(cloud.services.robots, 'authenticateToken');
    const release = await holdStore();
    const first = call(token);
    await until(() => asked.mock.calls.length === 1);
    expect(await call(other).answer).toMatchObject({ status: 503, retryAfter: expect.toSatisfy(isSoon) });
    await release();
    expect(await first.answer).toBe('welcome');
  });

  it('cost nothing where they have gone before it was their turn', async () => {
    const tokens = await tokensOf(3, { openingMax: 1, waitingMax: 10 });
    const openings = holdOpenings();
    const first = call(tokens[0] ?? '');
    await until(() => openings.begun().length === 1);
    const [gone, last] = tokens.slice(1).map((token) => call(token));
    await until(async () => (await cloud.connections()) === 3);
    gone?.peer.socket.terminate();
    await until(async () => (await cloud.connections()) === 2);
    openings.release();
    expect(await first.answer).toBe('welcome');
    expect(await last?.answer).toBe('welcome');
    expect(openings.begun()).toEqual(['rover-0', 'rover-2']);
    expect(cloud.refused()).toBe(0);
  });

  it('are refused where they have waited for long, before they give up by themselves', async () => {
    const [token = '', other = ''] = await tokensOf(2, { openingMax: 1, waitMaxMs: 10 });
    const openings = holdOpenings();
    const first = call(token);
    await until(() => openings.begun().length === 1);
    expect(await call(other).answer).toMatchObject({ status: 503 });
    openings.release();
    expect(await first.answer).toBe('welcome');
  });

  it('are not taken with a token that was replaced while they waited', async () => {
    const [token = '', other = ''] = await tokensOf(2, { openingMax: 1 });
    const openings = holdOpenings();
    const first = call(token);
    await until(() => openings.begun().length === 1);
    const asked = vi.spyOn(cloud.services.robots, 'authenticateToken');
    const waiting = call(other);
    await until(() => asked.mock.calls.length === 1);
    await asked.mock.results[0]?.value;
    expect((await cloud.post('/robots/rover-1/token', {})).status).toBeLessThan(300);
    openings.release();
    expect(await first.answer).toBe('welcome');
    expect(await waiting.answer).toMatchObject({ status: 401 });
  });

  it('are not kept waiting by one that says no hello', async () => {
    const [token = '', other = ''] = await tokensOf(2, { openingMax: 1, silentMaxMs: 10 });
    const silent = cloud.peer(token);
    await new Promise((resolve) => silent.socket.once('open', resolve));
    expect(await call(other).answer).toBe('welcome');
    // And it may still say it.
    silent.say(hello());
    await silent.next('welcome');
  });

  it('are not kept out by one that calls again and again: its newest call counts', async () => {
    const [token = '', other = '', flooder = ''] = await tokensOf(3, { openingMax: 1, waitingMax: 2 });
    const openings = holdOpenings();
    const first = call(token);
    await until(() => openings.begun().length === 1);
    const calls = [];
    for (let at = 1; at <= 10; at += 1) {
      calls.push(call(flooder));
      await until(() => cloud.refused() + 1 >= at);
    }
    const good = call(other);
    await until(async () => (await cloud.connections()) === 3);
    openings.release();
    expect(await first.answer).toBe('welcome');
    expect(await good.answer).toBe('welcome');
    expect(await calls.pop()?.answer).toBe('welcome');
    for (const { answer } of calls) expect(await answer).toEqual({ status: 503, retryAfter: 2 });
  });

  it('lose their place where they said no hello and call again', async () => {
    const [token = '', other = ''] = await tokensOf(2, { openingMax: 2, silentMaxMs: 60_000 });
    for (let at = 0; at < 3; at += 1) {
      const silent = cloud.peer(token);
      await new Promise((resolve) => silent.socket.once('open', resolve));
    }
    expect(await call(other).answer).toBe('welcome');
  });

  it('are refused those who wait when the cloud stops', async () => {
    const [token = '', other = ''] = await tokensOf(2, { openingMax: 1 });
    await new Promise((resolve) => cloud.peer(token).socket.once('open', resolve));
    const waiting = call(other);
    await until(async () => (await cloud.connections()) === 2);
    void cloud.gateway.stop();
    expect(await waiting.answer).toMatchObject({ status: 503 });
  });
});

describe('the pace at which robots are told to come again', () => {
  let nowMs: number;
  let sockets: Socket[];
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    nowMs = 0;
    sockets = [];
  });
  afterEach(() => {
    vi.useRealTimers();
    for (const socket of sockets) socket.destroy();
  });

  /** What the last of a thousand is told, after a second in which 40 places were taken and what `use` is was made of each. */
  async function toldAfter(use: (place: Place) => void): Promise<number> {
    const admission = new Admission({ monotonicNow: () => nowMs, onRefused: () => {}, bounds: { openingMax: 40 } });
    const places: Place[] = [];
    let robotKey = 0;
    const enter = (refused: (retryAfterS: number) => void) => {
      const socket = new Socket();
      sockets.push(socket);
      robotKey += 1;
      const caller = { robotKey, open: (place: Place) => void places.push(place), refuse: refused };
      return admission.enter(socket, async () => caller, refused);
    };
    // The last one waits on: the pace is measured while some do.
    for (let at = 0; at < 41; at += 1) await enter(() => {});
    while (places.length < 40) await new Promise((resolve) => setImmediate(resolve));
    for (const place of places.slice(0, 40)) use(place);
    // Those who wait are gathered, which does not count.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    nowMs += 1_000;
    await vi.advanceTimersByTimeAsync(250);
    admission.stop();
    let told = 0;
    for (let at = 0; at < 1_000; at += 1) await enter((retryAfterS) => (told = retryAfterS));
    return told;
  }

  it('counts robots that were opened, not silent ones nor those that failed', async () => {
    const opened = (place: Place) => {
      place.greeted();
      place.opened();
      place.leave();
    };
    // (400 taken for it + 40) / 2 a second, and half of 400 where none was.
    expect(await toldAfter(opened)).toBe(Math.ceil(2 + 1_000 / 220));
    expect(await toldAfter((place) => place.leave())).toBe(Math.ceil(2 + 1_000 / 200));
    expect(await toldAfter(() => {})).toBe(Math.ceil(2 + 1_000 / 200));
  });
});

it('openings are put off while callers come, so that their connections are accepted, but for 50 ms at most', async () => {
  let nowMs = 0;
  let opened = 0;
  let robotKey = 0;
  const admission = new Admission({ monotonicNow: () => nowMs, onRefused: () => {} });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const comes = async () => {
    robotKey += 1;
    const caller = { robotKey, open: () => (opened += 1), refuse: () => {} };
    await admission.enter(new Socket(), async () => caller, caller.refuse);
    await turn();
  };
  for (let at = 0; at < 20; at += 1) await comes();
  expect(opened).toBe(0);
  while (opened < 20) await turn();
  for (let at = 0; opened === 20; at += 1) {
    expect(at).toBeLessThan(60);
    await comes();
    nowMs += 1;
  }
  admission.stop();
});

it('a robot that is refused again and again is told one time to come, and moves nobody else’s', async () => {
  let nowMs = 0;
  const admission = new Admission({
    monotonicNow: () => nowMs,
    onRefused: () => {},
    bounds: { openingMax: 0, waitingMax: 0 },
  });
  const told = async (robotKey: number) => {
    let seconds = 0;
    const refuse = (retryAfterS: number) => {
      seconds = retryAfterS;
    };
    await admission.enter(new Socket(), async () => ({ robotKey, open: () => {}, refuse }), refuse);
    return seconds;
  };
  for (let at = 0; at < 10_000; at += 1) expect(await told(1)).toBe(2);
  expect(await told(2)).toBe(3);
  nowMs += 1_500;
  expect(await told(1)).toBe(1);
});

function isSoon(seconds: number): boolean {
  return seconds >= 1 && seconds <= 20;
}
