import type { LinkStatus } from '@drover/shared/link/link-status';
import { upMessage } from '@drover/shared/link/up';
import { beforeEach, describe, expect, it } from 'vitest';
import { LINK_STATUS_AGAIN_MS, LINK_STATUS_MS, LinkReporter } from './link-reporter.js';

const SPOOL = '0194b6b0-3b1a-7cc0-8d7f-000000000002';
const OTHER_SPOOL = '0194b6b0-3b1a-7cc0-8d7f-000000000003';

describe('the reporter of the link', () => {
  let nowMs: number;
  let depth: LinkStatus['spool'] | null;
  let drops: LinkStatus['drops'];
  let storage: 'ok' | 'failing';
  let offsetMs: number;
  let sent: { status: LinkStatus; key: string | null }[];
  let reporter: LinkReporter;
  const uplink = {
    send: (message: unknown, key: string | null = null) => {
      const status = upMessage.parse(message);
      if (status.kind !== 'link_status') throw new TypeError(status.kind);
      sent.push({ status, key });
    },
  };
  const look = () => {
    nowMs += LINK_STATUS_MS;
    reporter.look();
    return sent.splice(0).map(({ status }) => status);
  };

  beforeEach(() => {
    nowMs = 0;
    sent = [];
    drops = [];
    storage = 'ok';
    offsetMs = 5;
    depth = { id: SPOOL, rows: 10, bytes: 1_000, bytes_max: 1e9, oldest_robot_ms: 1 };
    reporter = new LinkReporter({
      spool: { depth: () => depth, drops: () => drops },
      storage: () => storage,
      clock: { offset: () => ({ offset_ms: offsetMs, uncertainty_ms: 1 }) },
      monotonicNow: () => nowMs,
    });
  });

  it('tells all when a session opens, under one key, so that it never piles up before a link that stands still', () => {
    reporter.opened(uplink, { link_version: 3 });
    expect(sent).toEqual([
      {
        key: 'link_status',
        status: {
          kind: 'link_status',
          clock: { offset_ms: 5, uncertainty_ms: 1 },
          spool: { ...depth, storage },
          drops: [],
        },
      },
    ]);
  });

  it('tells nothing to a cloud that does not know the message', () => {
    reporter.opened(uplink, { link_version: 2 });
    expect(look()).toEqual([]);
    expect(sent).toEqual([]);
  });

  it('tells nothing while nothing changes but what comes and goes all the time, and all again each minute', () => {
    reporter.opened(uplink, { link_version: 3 });
    sent.splice(0);
    let told = 0;
    for (let n = 1; nowMs + LINK_STATUS_MS < LINK_STATUS_AGAIN_MS; n += 1) {
      depth = { id: SPOOL, rows: n, bytes: n * 1_000, bytes_max: 1e9, oldest_robot_ms: n };
      told += look().length;
    }
    expect(told).toBe(0);
    expect(look()).toHaveLength(1);
  });

  it.each<[string, () => void]>([
    [
      'what was dropped',
      () => {
        drops = [{ source: '/odom', reason: 'spool_full', rows: 1, bytes: 2 }];
      },
    ],
    [
      'how much waits',
      () => {
        depth = { id: SPOOL, rows: 5_000, bytes: 500_000, bytes_max: 1e9, oldest_robot_ms: 1 };
      },
    ],
    [
      'a clock that was set',
      () => {
        offsetMs = 3_600_000;
      },
    ],
    [
      'a disk that takes no writes',
      () => {
        storage = 'failing';
      },
    ],
    [
      'another spool',
      () => {
        depth = { id: OTHER_SPOOL, rows: 10, bytes: 1_000, bytes_max: 1e9, oldest_robot_ms: 1 };
      },
    ],
  ])('tells %s', (_what, change) => {
    reporter.opened(uplink, { link_version: 3 });
    sent.splice(0);
    change();
    expect(look()).toEqual([
      { kind: 'link_status', clock: { offset_ms: offsetMs, uncertainty_ms: 1 }, spool: { ...depth, storage }, drops },
    ]);
    expect(look()).toEqual([]);
  });

  it('tells a thousand counts at most, the largest', () => {
    drops = Array.from({ length: 1_500 }, (_, n) => ({ source: `/s${n}`, reason: 'spool_full', rows: n, bytes: n }));
    reporter.opened(uplink, { link_version: 3 });
    const [told] = sent;
    expect(told?.status.drops).toHaveLength(1_000);
    expect(Math.min(...(told?.status.drops ?? []).map(({ rows }) => rows))).toBe(500);
  });

  it('waits where the spool can not be read, and says nothing between two sessions', () => {
    const before = depth;
    depth = null;
    reporter.opened(uplink, { link_version: 3 });
    expect(sent).toEqual([]);
    depth = before;
    expect(look()).toHaveLength(1);
    reporter.closed();
    drops = [{ source: '/odom', reason: 'spool_full', rows: 1, bytes: 2 }];
    expect(look()).toEqual([]);
  });
});
