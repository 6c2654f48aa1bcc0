import type { ComposeStatus } from '@drover/shared/link/compose-status';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { COMPOSE_STATUS_MS_MIN, ComposeReporter } from './compose-reporter.js';

function status(overrides: Partial<ComposeStatus> = {}): ComposeStatus {
  return {
    ...{ kind: 'compose_status', assignment: '11111111-1111-4111-8111-111111111111', state: 'pending_up' },
    ...{ error_code: null, error_message: null, phase: 'pulling', running: null, failed: null },
    ...{ images: [], services: [], engine_words: null, held_by: null },
    ...overrides,
  };
}

function setUp() {
  const told: ComposeStatus[] = [];
  const robot: { status: ComposeStatus | null } = { status: status() };
  const reporter = new ComposeReporter(() => robot.status);
  return { told, robot, reporter, uplink: { send: (message: ComposeStatus) => void told.push(message) } };
}

describe('how a robot stands with its compose file', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is told when a session opens, and again in each', () => {
    const { told, reporter, uplink } = setUp();
    for (let session = 0; session < 2; session += 1) {
      reporter.opened(uplink, { link_version: 5 });
      vi.advanceTimersByTime(0);
      reporter.closed();
    }
    expect(told).toHaveLength(2);
  });

  it('is not told to a cloud that does not know the message, nor where there is nothing to tell', () => {
    const { told, robot, reporter, uplink } = setUp();
    reporter.opened(uplink, { link_version: 4 });
    vi.advanceTimersByTime(0);
    robot.status = null;
    reporter.opened(uplink, { link_version: 5 });
    vi.advanceTimersByTime(0);
    expect(told).toEqual([]);
  });

  it('is told at once when it changes, then as it stands after a while, and not where it has not changed', () => {
    const { told, robot, reporter, uplink } = setUp();
    reporter.opened(uplink, { link_version: 5 });
    vi.advanceTimersByTime(0);
    for (const phase of ['starting', 'watching', 'idle'] as const) {
      robot.status = status({ phase });
      reporter.changed();
    }
    expect(told.map(({ phase }) => phase)).toEqual(['pulling']);
    vi.advanceTimersByTime(COMPOSE_STATUS_MS_MIN);
    expect(told.map(({ phase }) => phase)).toEqual(['pulling', 'idle']);
    vi.advanceTimersByTime(10 * COMPOSE_STATUS_MS_MIN);
    reporter.changed();
    expect(told).toHaveLength(2);
  });

  it('is told with all that changes in one turn: the state that ends a deployment with the phase that ends', async () => {
    const { told, robot, reporter, uplink } = setUp();
    reporter.opened(uplink, { link_version: 5 });
    vi.advanceTimersByTime(10 * COMPOSE_STATUS_MS_MIN);
    robot.status = status({ state: 'up', phase: 'watching' });
    reporter.changed();
    await Promise.resolve();
    robot.status = status({ state: 'up', phase: 'idle' });
    reporter.changed();
    vi.advanceTimersByTime(0);
    expect(told.map(({ state, phase }) => `${state} ${phase}`)).toEqual(['pending_up pulling', 'up idle']);
  });
});
