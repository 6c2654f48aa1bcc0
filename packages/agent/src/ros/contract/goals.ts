import { randomBytes } from 'node:crypto';
import type { RosMessage } from '@drover/shared/ros/values';
import { beforeAll, describe, expect, it } from 'vitest';
import { type GoalHandle, GoalRejectedError, UnknownTypeError } from '../graph.js';
import { type Bench, FIBONACCI } from './bench.js';

/** Goals: how each ends, and what is heard of it before. */
export function goalsContract(bench: Bench): void {
  describe('goals', () => {
    let action: string;
    beforeAll(async () => {
      action = bench.fresh('fibonacci');
      await bench.peer.serveFibonacci(action);
    });

    const send = (order: number, options: object = {}): Promise<GoalHandle> =>
      bench.graph.sendGoal({
        action,
        type: FIBONACCI,
        goalId: randomBytes(16),
        goal: { order },
        readyTimeoutMs: 5000,
        acceptTimeoutMs: 5000,
        onFeedback: () => {},
        ...options,
      });

    it('gives feedback and the result', async () => {
      const feedback: RosMessage[] = [];
      const goal = await send(4, { onFeedback: (message: RosMessage) => feedback.push(message) });
      expect(await goal.result).toEqual({ status: 'succeeded', result: { sequence: Int32Array.of(0, 1, 1, 2, 3) } });
      expect(feedback.at(-1)).toEqual({ sequence: Int32Array.of(0, 1, 1, 2, 3) });
      expect(feedback.length).toBeGreaterThan(1);
    });

    it('gives each of two goals its own feedback and result', async () => {
      const seen: number[][] = [[], []];
      const lengthOf = (message: RosMessage) => (message.sequence as Int32Array).length;
      const goals = await Promise.all(
        [3, 6].map((order, index) =>
          send(order, { onFeedback: (message: RosMessage) => seen[index]?.push(lengthOf(message)) }),
        ),
      );
      const results = await Promise.all(goals.map((goal) => goal.result));
      expect(results.map(({ result }) => lengthOf(result))).toEqual([4, 7]);
      expect(seen.map((lengths) => Math.max(...lengths))).toEqual([4, 7]);
    });

    it('says that the server rejected the goal', async () => {
      await expect(send(41)).rejects.toBeInstanceOf(GoalRejectedError);
    });

    it('says that the server aborted the goal', async () => {
      const goal = await send(-1);
      expect(await goal.result).toMatchObject({ status: 'aborted' });
    });

    it('cancels a goal', async () => {
      const slow = bench.fresh('slow_fibonacci');
      await bench.peer.serveFibonacci(slow, { stepMs: 100 });
      const goal = await new Promise<GoalHandle>((resolve, reject) => {
        const sent = send(39, { action: slow, onFeedback: () => sent.then(resolve) });
        sent.catch(reject);
      });
      expect(await goal.cancel()).toBe(true);
      expect(await goal.result).toMatchObject({ status: 'canceled' });
    });

    it('does not cancel a goal that has ended', async () => {
      const goal = await send(2);
      await goal.result;
      expect(await goal.cancel()).toBe(false);
    });

    it('sends no goal that is not wanted any more when its server comes', async () => {
      const late = bench.fresh('late_fibonacci');
      const unwanted = new AbortController();
      const goal = send(3, { action: late, signal: unwanted.signal });
      const reason = new Error('not wanted any more');
      unwanted.abort(reason);
      await expect(goal).rejects.toBe(reason);
    });

    it('says that no server is there', async () => {
      const nowhere = bench.fresh('nowhere');
      await expect(send(3, { action: nowhere, readyTimeoutMs: 100 })).rejects.toMatchObject({
        name: 'NotReadyError',
        server: 'action',
        rosName: nowhere,
        waitedMs: 100,
      });
    });

    it('outlives a feedback callback that throws', async () => {
      const goal = await send(3, {
        onFeedback: () => {
          throw new Error('from the callback');
        },
      });
      expect(await goal.result).toMatchObject({ status: 'succeeded' });
    });

    it('refuses an unknown type', async () => {
      await expect(send(3, { type: 'no_such_msgs/action/Nothing' })).rejects.toBeInstanceOf(UnknownTypeError);
    });
  });
}
