import { once } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConnectedCloud, startConnectedCloud } from '../testing/connected-cloud.js';

describe('the log of who comes with no valid token', () => {
  let cloud: ConnectedCloud;
  let lines: Record<string, unknown>[];
  let nowMs: number;
  beforeEach(async () => {
    lines = [];
    nowMs = 0;
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    cloud = await startConnectedCloud({ log, monotonicNow: () => nowMs });
  });
  afterEach(() => cloud.stop());

  async function refused(count: number): Promise<void> {
    const calls = Array.from({ length: count }, async (_, at) => {
      const { socket } = cloud.peer(`drt_nobody-knows-this-${at}`);
      const [, { statusCode }] = await once(socket, 'unexpected-response');
      socket.terminate();
      expect(statusCode).toBe(401);
    });
    await Promise.all(calls);
  }

  it('has a line a second at most, with how many there were', async () => {
    await refused(20);
    expect(lines).toMatchObject([{ msg: 'robot refused: no valid token', remote: '127.0.0.1', refused: 1 }]);
    nowMs += 999;
    await refused(3);
    nowMs += 1;
    await refused(2);
    expect(lines.map(({ refused: many }) => many)).toEqual([1, 23]);
    nowMs += 60_000;
    await refused(1);
    expect(lines.map(({ refused: many }) => many)).toEqual([1, 23, 2]);
  });
});
