import type { ActionHandlers } from '../actions.js';
import type { NodeLogger, RosNode } from '../ros-node.js';

const STEP_MS = 200;

/** The Fibonacci action as ROS's tutorials have it: a number and its feedback each step, up to `order`. */
export function fibonacci(node: RosNode, log: NodeLogger): ActionHandlers {
  return {
    execute: ({ goal, canceled, feedback }) =>
      new Promise((resolve) => {
        const order = Number(goal.order);
        const sequence = [0, 1];
        const end = (status: 'succeeded' | 'canceled' | 'aborted') => {
          stopSteps();
          canceled.removeEventListener('abort', cancel);
          resolve({ status, result: { sequence } });
        };
        const cancel = () => {
          log.info(`fibonacci of order ${order} canceled`);
          end('canceled');
        };
        const step = () => {
          const count = sequence.length;
          // As in C, what no longer fits 32 bits wraps.
          sequence.push(((sequence[count - 1] ?? 0) + (sequence[count - 2] ?? 0)) | 0);
          feedback({ sequence: [...sequence] });
          if (sequence.length > order) end('succeeded');
        };
        log.info(`fibonacci of order ${order} begins`);
        const stopSteps = order > 1 ? node.every(STEP_MS, step) : () => {};
        canceled.addEventListener('abort', cancel);
        if (order < 0) {
          log.error(`fibonacci has no order ${order}`);
          end('aborted');
        } else if (order <= 1) end('succeeded');
      }),
  };
}
