import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';
import type { AdmissionBounds } from './admission.js';
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
    const asked = vi.spyOn(cloud.services.robots, 'authenticateToken');
    const release = await holdStore();
    const calls = tokens.map((token) => ({ token, ...call(token) }));
    // The store is held: whoever is answered now was refused before anything was done for it.
    await until(() => cloud.refused() === 15);
    expect(asked).toHaveBeenCalledTimes(2);
    await release();
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

  it('cost nothing where they have gone before it was their turn', async () => {
    const tokens = await tokensOf(3, { openingMax: 1, waitingMax: 10 });
    const asked = vi.spyOn(cloud.services.robots, 'authenticateToken');
    const release = await holdStore();
    const [first, gone, last] = tokens.map((token) => call(token));
    await until(async () => (await cloud.connections()) === 3);
    gone?.peer.socket.terminate();
    await until(async () => (await cloud.connections()) === 2);
    await release();
    expect(await first?.answer).toBe('welcome');
    expect(await last?.answer).toBe('welcome');
    expect(asked.mock.calls.map(([token]) => token)).toEqual([tokens[0], tokens[2]]);
    expect(cloud.refused()).toBe(0);
  });

  it('are refused where they have waited for long, before they give up by themselves', async () => {
    const [token = '', other = ''] = await tokensOf(2, { openingMax: 1, waitMaxMs: 10 });
    const release = await holdStore();
    const first = call(token);
    await until(async () => (await cloud.connections()) === 1);
    expect(await call(other).answer).toMatchObject({ status: 503 });
    await release();
    expect(await first.answer).toBe('welcome');
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

  it('are refused those who wait when the cloud stops', async () => {
    const [token = '', other = ''] = await tokensOf(2, { openingMax: 1 });
    await new Promise((resolve) => cloud.peer(token).socket.once('open', resolve));
    const waiting = call(other);
    await until(async () => (await cloud.connections()) === 2);
    void cloud.gateway.stop();
    expect(await waiting.answer).toMatchObject({ status: 503 });
  });
});

function isSoon(seconds: number): boolean {
  return seconds >= 1 && seconds <= 20;
}
