import { expect, it } from 'vitest';
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
