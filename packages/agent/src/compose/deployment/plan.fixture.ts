import type { Container } from '../docker/container.js';
import type { Service } from '../document/services.js';

/** A service named `web` of one container. */
export function service(overrides: Partial<Service> = {}): Service {
  const rest = { pullPolicy: null, platform: null, scale: 1, endIsAwaited: false, stopGraceS: 10 };
  return { name: 'web', image: 'web:1', ...rest, ...overrides };
}

/** The running container of that service. */
export function container(overrides: Partial<Container> = {}): Container {
  return {
    ...{ id: 'c1', name: 'p-web-1', service: 'web', number: 1, isOneOff: false, replaces: null },
    ...{ image: 'web:1', imageId: 'sha256:a', state: 'running', health: null, exitCode: null, error: '' },
    ...{ startedMs: 1_000, finishedMs: null, createdMs: 900, restarts: 0, stopGraceS: null },
    restartPolicy: { name: 'no', retriesMax: 0 },
    ...{ robot: 'robot-1', agent: 'agent-1' },
    ...overrides,
  };
}
