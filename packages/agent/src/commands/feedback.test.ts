import { commonDefinitions } from '@drover/shared/ros/common';
import { loadInterface } from '@drover/shared/ros/definitions';
import { expect, it } from 'vitest';
import { FeedbackRelay } from './feedback.js';
import { RESULT_BYTES_MAX } from './outcome.js';

async function relay() {
  const type = await loadInterface('std_msgs/msg/String', commonDefinitions);
  if (type.kind !== 'msg') throw new TypeError('a message type is expected');
  const sent: unknown[] = [];
  return { sent, feedback: new FeedbackRelay(type.message, (feedback) => sent.push(feedback)) };
}

it('sends nothing that comes after the end: it would take the place of the outcome on its way', async () => {
  const { sent, feedback } = await relay();
  feedback.push({ data: 'half' });
  expect(feedback.finish()).toEqual({ data: 'half' });
  feedback.push({ data: 'late' });
  expect(sent).toEqual([{ data: 'half' }]);
  expect(feedback.finish()).toEqual({ data: 'half' });
});

it('sends nothing that is too large: the link would end over each', async () => {
  const { sent, feedback } = await relay();
  feedback.push({ data: 'x'.repeat(RESULT_BYTES_MAX) });
  expect(sent).toEqual([]);
  feedback.finish();
});
