import { randomBytes } from 'node:crypto';
import type { RosMessage } from '@drover/shared/ros/values';
import { beforeAll, describe, expect, it } from 'vitest';
import { type GoalHandle, GoalRejectedError, type RosGraph, ServerGoneError, UnknownTypeError } from '../graph.js';
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

  describe('goals taken up again', () => {
    let later: RosGraph;
    beforeAll(async () => {
      later = await bench.another();
    });

    /** A server, a goal that it has begun, and that goal's id. */
    const begin = async (order: number, stepMs: number) => {
      const action = bench.fresh('resumed');
      await bench.peer.serveFibonacci(action, { stepMs });
      const goalId = randomBytes(16);
      const request = { action, type: FIBONACCI, goalId, readyTimeoutMs: 5000 };
      let begun = () => {};
      const running = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const accepting = { goal: { order }, acceptTimeoutMs: 5000, onFeedback: () => begun() };
      const sent = await bench.graph.sendGoal({ ...request, ...accepting });
      return { request, sent, running };
    };

    it('tell the feedback that is still to come, and the result', async () => {
      // Long enough for a feedback subscription whose first announcement was missed: DDS repeats it after 3 s.
      const { request, running } = await begin(30, 250);
      await running;
      const feedback: RosMessage[] = [];
      const goal = await later.resumeGoal({ ...request, onFeedback: (message) => feedback.push(message) });
      const { status, result } = await goal.result;
      expect([status, (result.sequence as Int32Array).at(-1)]).toEqual(['succeeded', 832040]);
      expect(feedback.at(-1)).toEqual(result);
    });

    it('tell their result where they have ended meanwhile', async () => {
      const { request, sent } = await begin(3, 5);
      await sent.result;
      const goal = await later.resumeGoal({ ...request, onFeedback: () => {} });
      expect(await goal.result).toEqual({ status: 'succeeded', result: { sequence: Int32Array.of(0, 1, 1, 2) } });
      expect(await goal.cancel()).toBe(false);
    });

    it('can be cancelled', async () => {
      const { request, sent, running } = await begin(39, 100);
      await running;
      const goal = await later.resumeGoal({ ...request, onFeedback: () => {} });
      expect(await goal.cancel()).toBe(true);
      expect(await goal.result).toMatchObject({ status: 'canceled' });
      expect(await sent.result).toMatchObject({ status: 'canceled' });
    });

    it('are said to be lost where the server does not know them, and are not sent again', async () => {
      const { request, sent } = await begin(3, 5);
      await sent.result;
      const goalId = randomBytes(16);
      for (let asked = 0; asked < 2; asked += 1) {
        const goal = await later.resumeGoal({ ...request, goalId, onFeedback: () => {} });
        await expect(goal.result).rejects.toBeInstanceOf(ServerGoneError);
      }
    });

    it('wait for their server, for as long as they may', async () => {
      const action = bench.fresh('nowhere');
      const request = { action, type: FIBONACCI, goalId: randomBytes(16), onFeedback: () => {} };
      await expect(later.resumeGoal({ ...request, readyTimeoutMs: 100 })).rejects.toMatchObject({
        name: 'NotReadyError',
        rosName: action,
        waitedMs: 100,
      });
      const reason = new Error('not wanted any more');
      const unwanted = new AbortController();
      const waiting = later.resumeGoal({ ...request, readyTimeoutMs: 5000, signal: unwanted.signal });
      unwanted.abort(reason);
      await expect(waiting).rejects.toBe(reason);
    });
  });
}
