import { expect, it } from 'vitest';
import { MARKS_MAX, SendWindow, WINDOW_BYTES_MAX, WINDOW_BYTES_MIN } from './send-window.js';

const FRAME = 16_384;

interface SimulatedLink {
  /** The rate at a time. */
  bytesPerMs: (nowMs: number) => number;
  oneWayMs: number;
}

/** Sends as fast as the window allows; returns the longest queue in the link and how much of it was used. */
function run(link: SimulatedLink, forMs: number) {
  const window = new SendWindow();
  let queued = 0;
  let longestQueue = 0;
  let delivered = 0;
  let possible = 0;
  const onWire: { id: number | null; bytes: number }[] = [];
  const pongs = [{ id: window.probe(0), atMs: 2 * link.oneWayMs }];
  for (let now = 0; now < forMs; now += 1) {
    while (pongs[0] && pongs[0].atMs <= now) window.arrived(pongs.shift()?.id ?? 0, now);
    while (window.isOpen) {
      const bytes = Math.min(FRAME, window.frameBytes);
      window.sent(bytes);
      onWire.push({ id: window.markDue(now), bytes });
      queued += bytes;
    }
    longestQueue = Math.max(longestQueue, queued);
    let budget = link.bytesPerMs(now);
    possible += budget;
    while (onWire[0] && budget > 0) {
      const part = Math.min(budget, onWire[0].bytes);
      onWire[0].bytes -= part;
      budget -= part;
      queued -= part;
      delivered += part;
      if (onWire[0].bytes > 0) break;
      const { id } = onWire[0];
      onWire.shift();
      if (id !== null) pongs.push({ id, atMs: now + 2 * link.oneWayMs });
    }
  }
  return { window, longestQueue, deliveredShare: delivered / possible };
}

it('begins with one frame', () => {
  const window = new SendWindow();
  expect(window.bytes).toBe(WINDOW_BYTES_MIN);
  window.sent(FRAME);
  expect(window.isOpen).toBe(false);
});

it('fills a fast link, and keeps the queue to what it carries in about half a second', () => {
  const { deliveredShare, longestQueue } = run({ bytesPerMs: () => 1000, oneWayMs: 20 }, 10_000);
  expect(deliveredShare).toBeGreaterThan(0.9);
  expect(longestQueue).toBeLessThan(1000 * 600);
});

it('fills a link with a long way (600 ms there and back)', () => {
  expect(run({ bytesPerMs: () => 500, oneWayMs: 300 }, 30_000).deliveredShare).toBeGreaterThan(0.8);
});

it('keeps a link of 64 kbit/s busy with less than a second of it under way', () => {
  const { deliveredShare, longestQueue } = run({ bytesPerMs: () => 8, oneWayMs: 50 }, 60_000);
  expect(longestQueue).toBeLessThan(8_000);
  expect(deliveredShare).toBeGreaterThan(0.85);
});

it('shrinks when the link slows down', () => {
  const slowsDown = (nowMs: number) => (nowMs < 5_000 ? 1000 : 50);
  expect(run({ bytesPerMs: slowsDown, oneWayMs: 5 }, 5_000).window.bytes).toBeGreaterThan(300_000);
  expect(run({ bytesPerMs: slowsDown, oneWayMs: 5 }, 40_000).window.bytes).toBeLessThan(50_000);
});

it('does not take a burst for the rate: a modem that was at rest lets a few kilobytes through at once', () => {
  // The first 8 kB pass at once, as a token bucket has it.
  const { longestQueue } = run({ bytesPerMs: (nowMs) => (nowMs === 20 ? 8_000 : 8), oneWayMs: 10 }, 20_000);
  expect(longestQueue).toBeLessThan(20_000);
});

it('never closes for good: a closed window has its mark under way', () => {
  const window = new SendWindow();
  let now = 0;
  for (let i = 0; i < 1000; i += 1) {
    window.sent(700);
    const mark = window.markDue(now);
    if (!window.isOpen) expect(mark).not.toBeNull();
    now += 50;
    if (mark !== null) window.arrived(mark, now);
    expect(window.isOpen).toBe(true);
    expect(window.bytes).toBeLessThanOrEqual(WINDOW_BYTES_MAX);
  }
});

it('has few marks under way, however much is written to a closed window, and opens when they are back', () => {
  const window = new SendWindow();
  const marks: number[] = [];
  const ask = () => {
    const mark = window.markDue(0);
    if (mark !== null) marks.push(mark);
    return mark !== null;
  };
  for (let i = 0; i < 1000; i += 1) {
    window.sent(100);
    ask();
  }
  expect(window.isOpen).toBe(false);
  expect(marks.length).toBeLessThanOrEqual(MARKS_MAX);
  for (let now = 1; !window.isOpen; now += 1) {
    window.arrived(marks.shift() ?? Number.NaN, now);
    ask();
    expect(window.isOpen || marks.length > 0).toBe(true);
  }
});
