import {
  COMPOSE_IMAGES_MAX,
  COMPOSE_SERVICES_MAX,
  COMPOSE_WORDS_MAX,
  type ComposeService,
  type ComposeStatus,
  type ComposeVersion,
} from '@drover/shared/link/compose-status';
import type { Progress } from './deployment/progress.js';
import type { Deployment, Problem } from './deployment/state-file.js';
import { type Container, sinceMs } from './docker/container.js';

const MESSAGE_LENGTH_MAX = 4096;

/** How the robot stands with its compose file, as the cloud is told; null before anything was ever asked for. */
export function statusOf(
  deployment: Deployment,
  progress: Pick<Progress, 'phase' | 'heldBy' | 'images' | 'unavailable' | 'isUnsure'>,
  { containers, running }: { readonly containers: readonly Container[]; readonly running: ComposeVersion | null },
): ComposeStatus | null {
  const { task } = deployment;
  if (task === null) return null;
  const { state, code, message, words } = standing(deployment, progress);
  const failure = task.kind === 'up' ? task.problem : null;
  return {
    kind: 'compose_status',
    assignment: task.assignment,
    state,
    error_code: code,
    error_message: message?.slice(0, MESSAGE_LENGTH_MAX) ?? null,
    phase: progress.phase,
    running,
    failed:
      task.kind === 'down' || failure === null
        ? null
        : {
            id: task.version.id,
            version: task.version.version,
            error_code: failure.code,
            message: failure.message.slice(0, MESSAGE_LENGTH_MAX),
            at_robot_ms: failure.at_ms,
          },
    images: progress.images.slice(0, COMPOSE_IMAGES_MAX).map((one) => ({ ...one, image: one.image.slice(0, 1024) })),
    services: containers.slice(0, COMPOSE_SERVICES_MAX).map(serviceOf),
    engine_words: words?.slice(-COMPOSE_WORDS_MAX) ?? null,
    held_by: progress.heldBy,
  };
}

interface Standing {
  readonly state: ComposeStatus['state'];
  readonly code: ComposeStatus['error_code'];
  readonly message: string | null;
  readonly words: string | null;
}

function standing(
  { task, good_problem: goodProblem }: Deployment,
  { unavailable, isUnsure }: Pick<Progress, 'unavailable' | 'isUnsure'>,
): Standing {
  const isUp = task?.kind === 'up';
  if (task?.stage === 'done') {
    const problem = task.problem ?? (isUp ? goodProblem : null);
    if (problem !== null) return failed(problem);
    // What runs on without the engine is not known.
    if (!isUp) return well('down');
    if (unavailable === null) return well(isUnsure ? 'pending_up' : 'up');
  }
  if (unavailable !== null) {
    return { state: 'error', code: 'docker_unavailable', message: unavailable, words: unavailable };
  }
  return well(isUp ? 'pending_up' : 'pending_down');
}

function well(state: ComposeStatus['state']): Standing {
  return { state, code: null, message: null, words: null };
}

function failed({ code, message, words }: Problem): Standing {
  return { state: 'error', code, message, words };
}

function serviceOf(container: Container): ComposeService {
  const { service, name, image, state, health, exitCode, restarts } = container;
  return {
    service: service.slice(0, 256),
    container: name.slice(0, 256),
    image: image.slice(0, 1024),
    state: state.slice(0, 32),
    health: health?.slice(0, 32) ?? null,
    exit_code: exitCode,
    since_robot_ms: sinceMs(container),
    restarts,
  };
}
