import { describe, expect, it } from 'vitest';
import { UnknownTypeError } from '../graph.js';
import { type Bench, SET_BOOL } from './bench.js';

/** Calling services: an answer or the reason why there is none. */
export function callContract(bench: Bench): void {
  describe('call', () => {
    const call = (service: string, data: boolean, options: object = {}) =>
      bench.graph.call({
        service,
        type: SET_BOOL,
        request: { data },
        readyTimeoutMs: 5000,
        timeoutMs: 5000,
        ...options,
      });

    it('gives the answer', async () => {
      const service = bench.fresh('enable');
      await bench.peer.serveSetBool(service);
      expect(await call(service, true)).toEqual({ success: true, message: 'on' });
      expect(await call(service, false)).toEqual({ success: false, message: 'off' });
    });

    it('gives each of several calls its own answer', async () => {
      const service = bench.fresh('parallel');
      await bench.peer.serveSetBool(service, { delayMs: 5 });
      const asked = [true, false, false, true, true, false, true, false];
      const answers = await Promise.all(asked.map((data) => call(service, data)));
      expect(answers.map((answer) => answer.success)).toEqual(asked);
    });

    it('waits for a server that comes up late', async () => {
      const service = bench.fresh('late');
      const answer = call(service, true);
      await bench.peer.serveSetBool(service);
      expect(await answer).toEqual({ success: true, message: 'on' });
    });

    it('asks in the order of the calls, however long each has waited for the server', async () => {
      const service = bench.fresh('ordered');
      const answered: number[] = [];
      const calls: Promise<unknown>[] = [];
      for (let n = 0; n < 8; n += 1) {
        calls.push(call(service, true).then(() => answered.push(n)));
        // So that each looks for the server at moments of its own.
        await new Promise((resolve) => setTimeout(resolve, 7));
      }
      await bench.peer.serveSetBool(service);
      await Promise.all(calls);
      expect(answered).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    });

    it('says that no server is there', async () => {
      const service = bench.fresh('nowhere');
      await expect(call(service, true, { readyTimeoutMs: 100 })).rejects.toMatchObject({
        name: 'NotReadyError',
        server: 'service',
        rosName: service,
        waitedMs: 100,
      });
    });

    it('says that a server did not answer in time, and goes on', async () => {
      const service = bench.fresh('slow');
      await bench.peer.serveSetBool(service, { delayMs: 300 });
      await expect(call(service, true, { timeoutMs: 50 })).rejects.toMatchObject({
        name: 'RosTimeoutError',
        rosName: service,
        waitedMs: 50,
      });
      expect(await call(service, false)).toEqual({ success: false, message: 'off' });
    });

    it('gives up when told to, whether it waits for the server or for its answer', async () => {
      const service = bench.fresh('aborted');
      const reason = new Error('not wanted any more');
      const waiting = new AbortController();
      const noServer = call(service, true, { signal: waiting.signal });
      waiting.abort(reason);
      await expect(noServer).rejects.toBe(reason);

      await bench.peer.serveSetBool(service, { delayMs: 500 });
      await expect(call(service, true, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const asked = new AbortController();
      const noAnswer = call(service, true, { signal: asked.signal });
      setTimeout(() => asked.abort(reason), 100);
      await expect(noAnswer).rejects.toBe(reason);
    });

    it('refuses an unknown type', async () => {
      await expect(call(bench.fresh('unknown'), true, { type: 'no_such_srvs/srv/Nothing' })).rejects.toBeInstanceOf(
        UnknownTypeError,
      );
    });
  });
}
