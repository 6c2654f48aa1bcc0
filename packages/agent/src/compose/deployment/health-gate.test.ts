import { describe, expect, it } from 'vitest';
import type { Container } from '../docker/container.js';
import type { Service } from '../document/services.js';
import { HealthGate } from './health-gate.js';
import { container, service } from './plan.fixture.js';

const WINDOW_MS = 60_000;

function gate(services: readonly Service[] = [service()], before: readonly Container[] = []): HealthGate {
  return new HealthGate({ services, windowMs: WINDOW_MS, before, nowMs: 0 });
}

describe('the health gate', () => {
  it('passes what runs once it has run for a while, and says when to look again', () => {
    const judge = gate();
    expect(judge.judge([container()], 0)).toMatchObject({ kind: 'waiting', inMs: 3_000 });
    expect(judge.judge([container()], 2_000)).toMatchObject({ kind: 'waiting', inMs: 1_000 });
    expect(judge.judge([container()], 3_000)).toEqual({ kind: 'healthy' });
  });

  it('waits anew for what has been started again, and longer', () => {
    const judge = gate();
    judge.judge([container()], 0);
    const again = container({ startedMs: 3_500, restarts: 1 });
    expect(judge.judge([again], 4_000)).toMatchObject({ kind: 'waiting', inMs: 10_000 });
    expect(judge.judge([again], 14_000)).toEqual({ kind: 'healthy' });
  });

  it('does not hold restarts of the time before against a container that stays', () => {
    const kept = container({ restarts: 7 });
    const judge = gate([service()], [kept]);
    judge.judge([kept], 0);
    expect(judge.judge([kept], 3_000)).toEqual({ kind: 'healthy' });
  });

  it('passes a service with a healthcheck when that says healthy, and fails it when the window closes before', () => {
    const judge = gate();
    expect(judge.judge([container({ health: 'starting' })], 10_000)).toMatchObject({ kind: 'waiting' });
    expect(judge.judge([container({ health: 'unhealthy' })], 20_000)).toMatchObject({ kind: 'waiting' });
    expect(judge.judge([container({ health: 'healthy' })], 30_000)).toEqual({ kind: 'healthy' });
    const end = judge.judge([container({ health: 'unhealthy' })], WINDOW_MS);
    expect(end).toMatchObject({ kind: 'failed', code: 'unhealthy', containers: ['c1'] });
  });

  it('fails at once what has ended with an error and is not started again', () => {
    const ended = container({ state: 'exited', exitCode: 3 });
    const verdict = gate().judge([ended], 10);
    expect(verdict).toMatchObject({ kind: 'failed', code: 'start_failed', containers: ['c1'] });
    expect(verdict).toHaveProperty('message', 'service web (p-web-1) has ended with 3');
    const onFailure = { name: 'on-failure', retriesMax: 2 };
    const retried = { ...ended, restartPolicy: onFailure, restarts: 1 };
    expect(gate().judge([retried], 10)).toMatchObject({ kind: 'waiting' });
    expect(gate().judge([{ ...retried, restarts: 2 }], 10)).toMatchObject({ kind: 'failed' });
  });

  it('passes one that has ended with 0, unless it should run for ever', () => {
    const ended = container({ state: 'exited', exitCode: 0 });
    expect(gate().judge([ended], 0)).toEqual({ kind: 'healthy' });
    const always = { ...ended, restartPolicy: { name: 'always', retriesMax: 0 } };
    expect(gate().judge([always], 0)).toMatchObject({ kind: 'waiting' });
    expect(gate([service({ endIsAwaited: true })]).judge([always], 0)).toEqual({ kind: 'healthy' });
  });

  it('fails one that ends again and again when the window closes', () => {
    const loops = container({ state: 'restarting', exitCode: 1, restarts: 5 });
    expect(gate().judge([loops], WINDOW_MS)).toMatchObject({ kind: 'failed', code: 'start_failed' });
  });

  it('wants all containers of a service, and none of a service of none', () => {
    const judge = gate([service({ scale: 2 }), service({ name: 'off', scale: 0 })]);
    const verdict = judge.judge([container()], WINDOW_MS);
    expect(verdict).toMatchObject({ kind: 'failed', code: 'start_failed' });
    expect(verdict).toHaveProperty('message', expect.stringContaining('1 of 2'));
  });

  it('does not count what somebody runs by hand in the project', () => {
    const oneOff = container({ id: 'c2', isOneOff: true, state: 'exited', exitCode: 1 });
    const judge = gate();
    judge.judge([container(), oneOff], 0);
    expect(judge.judge([container(), oneOff], 3_000)).toEqual({ kind: 'healthy' });
  });
});
