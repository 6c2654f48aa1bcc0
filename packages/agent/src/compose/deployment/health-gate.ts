import type { Container } from '../docker/container.js';
import type { Service } from '../document/services.js';

/** What has run this long without a fault is taken to run. */
const SETTLE_MS = 3_000;
/** And this long, where Docker had to restart it before. */
const SETTLE_AGAIN_MS = 10_000;

export type Verdict =
  | { readonly kind: 'healthy' }
  /** `inMs`: when it could be another without anything happening. */
  | { readonly kind: 'waiting'; readonly inMs: number; readonly message: string }
  | {
      readonly kind: 'failed';
      readonly code: 'start_failed' | 'unhealthy';
      readonly message: string;
      /** Ids of the containers at fault. */
      readonly containers: readonly string[];
    };

interface Look {
  /** Of the container, and of its start. */
  readonly key: string;
  readonly sinceMs: number;
}

type Finding =
  | { readonly kind: 'well' }
  | {
      readonly kind: 'waiting';
      readonly code: 'start_failed' | 'unhealthy';
      readonly inMs: number;
      readonly why: string;
    }
  | { readonly kind: 'failed'; readonly why: string };

export interface HealthGateOptions {
  readonly services: readonly Service[];
  /** How long it may take until all are healthy. */
  readonly windowMs: number;
  /** What there was before: restarts of that time do not count. */
  readonly before: readonly Container[];
  /** Monotonic milliseconds. */
  readonly nowMs: number;
}

/**
 * Judges a version by looks at its containers: every service runs and goes on running, or has ended with 0 where it is one that ends;
 * those with a healthcheck are healthy. What can not get well any more fails at once, the rest when the window closes.
 */
export class HealthGate {
  readonly #services: readonly Service[];
  readonly #settleMs: number;
  readonly #settleAgainMs: number;
  readonly #closesMs: number;
  readonly #restartsBefore: ReadonlyMap<string, number>;
  readonly #looks = new Map<string, Look>();

  constructor({ services, windowMs, before, nowMs }: HealthGateOptions) {
    this.#services = services;
    this.#closesMs = nowMs + windowMs;
    // A short window is to be of use, too.
    this.#settleMs = Math.min(SETTLE_MS, windowMs / 3);
    this.#settleAgainMs = Math.min(SETTLE_AGAIN_MS, windowMs / 2);
    this.#restartsBefore = new Map(before.map(({ id, restarts }) => [id, restarts]));
  }

  /** @param nowMs monotonic */
  judge(containers: readonly Container[], nowMs: number): Verdict {
    const waiting: { container: string | null; finding: Finding & { kind: 'waiting' } }[] = [];
    for (const service of this.#services) {
      const own = containers.filter(({ service: name, isOneOff }) => name === service.name && !isOneOff);
      if (own.length < service.scale) {
        const why = `service ${service.name} has ${own.length} of ${service.scale} containers`;
        waiting.push({
          container: null,
          finding: { kind: 'waiting', code: 'start_failed', inMs: Number.POSITIVE_INFINITY, why },
        });
      }
      for (const container of own) {
        const finding = this.#look(container, service, nowMs);
        if (finding.kind === 'failed') {
          return { kind: 'failed', code: 'start_failed', message: finding.why, containers: [container.id] };
        }
        if (finding.kind === 'waiting') waiting.push({ container: container.id, finding });
      }
    }
    if (waiting.length === 0) return { kind: 'healthy' };
    const leftMs = this.#closesMs - nowMs;
    const message = waiting.map(({ finding }) => finding.why).join('; ');
    if (leftMs > 0) {
      return { kind: 'waiting', inMs: Math.min(leftMs, ...waiting.map(({ finding }) => finding.inMs)), message };
    }
    const ids = waiting.flatMap(({ container }) => container ?? []);
    // One that did not come up at all explains those that wait for it.
    const code = waiting.some(({ finding }) => finding.code === 'start_failed') ? 'start_failed' : 'unhealthy';
    return { kind: 'failed', code, message, containers: ids };
  }

  #look(container: Container, service: Service, nowMs: number): Finding {
    const { name, state, health, exitCode, restarts, restartPolicy } = container;
    const key = `${state} ${container.startedMs}`;
    const before = this.#looks.get(container.id);
    const sinceMs = before?.key === key ? before.sinceMs : nowMs;
    this.#looks.set(container.id, { key, sinceMs });
    const says = `service ${service.name} (${name})`;
    const wait = (why: string, inMs = Number.POSITIVE_INFINITY): Finding => ({
      kind: 'waiting',
      code: 'start_failed',
      inMs,
      why: `${says} ${why}`,
    });
    if (state === 'exited') {
      const ends = service.endIsAwaited || restartPolicy.name === 'no' || restartPolicy.name === 'on-failure';
      if (exitCode === 0) return ends ? { kind: 'well' } : wait('has ended with 0, and should run');
      const isLast =
        restartPolicy.name === 'no' || (restartPolicy.retriesMax > 0 && restarts >= restartPolicy.retriesMax);
      const why = `${says} has ended with ${exitCode}`;
      return isLast ? { kind: 'failed', why } : wait(`has ended with ${exitCode}`);
    }
    if (state !== 'running') {
      return wait(state === 'restarting' ? `ends again and again, last with ${exitCode}` : `is ${state}`);
    }
    const hasRestarted = restarts > (this.#restartsBefore.get(container.id) ?? 0);
    const leftMs = (hasRestarted ? this.#settleAgainMs : this.#settleMs) - (nowMs - sinceMs);
    if (health !== null && health !== 'healthy') {
      const why = `${says} is not healthy: its healthcheck says ${health}`;
      return { kind: 'waiting', code: 'unhealthy', inMs: Number.POSITIVE_INFINITY, why };
    }
    // Healthy is the better word for it than that it has not ended yet.
    if (leftMs > 0 && (health === null || hasRestarted)) return wait('has only just started', leftMs);
    return { kind: 'well' };
  }
}
