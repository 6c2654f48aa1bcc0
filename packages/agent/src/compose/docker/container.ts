import type { ContainerInspectInfo } from 'dockerode';

/** Labels that this agent gives to every container of its project: only what has one of them as its own is its to touch. */
export const ROBOT_LABEL = 'drover.robot';
export const AGENT_LABEL = 'drover.agent';

export const PROJECT_LABEL = 'com.docker.compose.project';
const SERVICE_LABEL = 'com.docker.compose.service';
const NUMBER_LABEL = 'com.docker.compose.container-number';
const REPLACE_LABEL = 'com.docker.compose.replace';
const ONEOFF_LABEL = 'com.docker.compose.oneoff';

/** A container of the project, as the engine has it now. */
export interface Container {
  readonly id: string;
  readonly name: string;
  readonly service: string;
  /** Compose counts the containers of a service from 1. */
  readonly number: number;
  /** Made by `docker compose run`: no part of what was deployed. */
  readonly isOneOff: boolean;
  /** The id or name of the one that it was made to replace; stays after that. */
  readonly replaces: string | null;
  /** As the document names it. */
  readonly image: string;
  readonly imageId: string;
  /** The engine's word. */
  readonly state: string;
  /** The engine's word; null without a healthcheck. */
  readonly health: string | null;
  readonly exitCode: number | null;
  /** The engine's words where it could not be started. */
  readonly error: string;
  readonly startedMs: number | null;
  readonly finishedMs: number | null;
  readonly createdMs: number | null;
  readonly restarts: number;
  readonly restartPolicy: { readonly name: string; readonly retriesMax: number };
  readonly stopGraceS: number | null;
  readonly robot: string | null;
  readonly agent: string | null;
}

/** What an inspected container is to us. */
export function containerOf(info: ContainerInspectInfo): Container {
  const labels = info.Config.Labels ?? {};
  const { State: state, HostConfig: host } = info;
  const hasEnded = state.Status === 'exited' || state.Status === 'dead' || state.Status === 'restarting';
  const health = state.Health?.Status;
  const stopGraceS: unknown = Reflect.get(info.Config, 'StopTimeout');
  return {
    id: info.Id,
    name: info.Name.replace(/^\//, ''),
    service: labels[SERVICE_LABEL] ?? '',
    number: Number(labels[NUMBER_LABEL] ?? 1),
    isOneOff: labels[ONEOFF_LABEL] === 'True',
    replaces: labels[REPLACE_LABEL] ?? null,
    image: info.Config.Image,
    imageId: info.Image,
    state: state.Status,
    health: health === undefined || health === 'none' ? null : health,
    exitCode: hasEnded ? state.ExitCode : null,
    error: state.Error ?? '',
    startedMs: instant(state.StartedAt),
    finishedMs: instant(state.FinishedAt),
    createdMs: instant(info.Created),
    restarts: info.RestartCount ?? 0,
    restartPolicy: {
      name: host.RestartPolicy?.Name || 'no',
      retriesMax: host.RestartPolicy?.MaximumRetryCount ?? 0,
    },
    stopGraceS: typeof stopGraceS === 'number' ? stopGraceS : null,
    robot: labels[ROBOT_LABEL] ?? null,
    agent: labels[AGENT_LABEL] ?? null,
  };
}

/** Names a run of a container, from a start of it to its end. */
export function runOf({ id, startedMs }: Container): string {
  return `${id} ${startedMs}`;
}

/** Since when it is in its state, by the engine's clock; null where the engine does not say. */
export function sinceMs(container: Container): number | null {
  switch (container.state) {
    case 'running':
      return container.startedMs;
    case 'exited':
    case 'dead':
    case 'restarting':
      return container.finishedMs;
    case 'created':
      return container.createdMs;
    default:
      return null;
  }
}

/** The engine writes year 1 for never. */
function instant(text: string | undefined): number | null {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}
