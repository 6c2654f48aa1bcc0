import { expect, it } from 'vitest';
import { giveBack } from './give-back.js';
import { RecentMessages } from './recent-messages.js';

const message = (n: number, bytes = 1) => new Uint8Array(bytes).fill(n);

it('keeps what came lately, oldest first, once', () => {
  const recent = new RecentMessages();
  recent.add(message(1), 0);
  recent.add(message(2), 600);
  recent.add(message(3), 1_000);
  expect(recent.take()).toEqual([message(2), message(3)]);
  expect(recent.take()).toEqual([]);
});

it('keeps at most a thousand messages, and four MiB', () => {
  const many = new RecentMessages();
  for (let n = 0; n < 3_000; n += 1) many.add(message(n % 100), 0);
  expect(many.take()).toHaveLength(1_000);
  const large = new RecentMessages();
  for (let n = 0; n < 9; n += 1) large.add(message(n, 2 ** 20), 0);
  expect(large.take().map(([first]) => first)).toEqual([5, 6, 7, 8]);
  large.add(message(1, 2 ** 23), 0);
  expect(large.take()).toEqual([]);
});

it('knows nothing of what was given back, which counts as what it was until its time is over', () => {
  const recent = new RecentMessages();
  const messages = Array.from({ length: 4 }, (_, n) => message(n, 2 ** 20));
  for (const one of messages) recent.add(one, 0);
  for (const one of messages.slice(1)) giveBack(one);
  expect(messages.map(({ byteLength }) => byteLength)).toEqual([2 ** 20, 0, 0, 0]);
  expect(recent.take()).toEqual(messages.slice(0, 1));
  const again = message(0, 2 ** 20);
  recent.add(again, 0);
  giveBack(again);
  recent.add(message(1), 1_000);
  recent.add(message(2, 2 ** 22 - 1), 1_000);
  expect(recent.take().map(([first]) => first)).toEqual([1, 2]);
});
