import { type Container, runOf } from '../docker/container.js';
import type { Service } from '../document/services.js';

/** One thing to do. In the order of the plan; the first that fails ends it. */
export type Step =
  /** `must`: also where it is here already. */
  | { readonly do: 'pull'; readonly image: string; readonly platform: string | null; readonly must: boolean }
  /** From here on containers change: the robot's own programs may hold that off. */
  | { readonly do: 'lock' }
  /** An image that is here gets back the name that another has taken. */
  | { readonly do: 'tag'; readonly image: string; readonly id: string }
  /** What a run that was killed has left half-made. */
  | { readonly do: 'remove'; readonly id: string; readonly name: string }
  | { readonly do: 'rename'; readonly id: string; readonly name: string }
  /** Empty: all. Else those, and what they depend on. */
  | { readonly do: 'up'; readonly services: readonly string[] }
  /** Until all are healthy, or are not. */
  | { readonly do: 'watch' }
  | { readonly do: 'down'; readonly volumes: boolean };

/** What is at the engine. */
export interface Current {
  /** Of our project, all ours. */
  readonly containers: readonly Container[];
  /** Ids of the images that are here, by the names that documents use. */
  readonly images: ReadonlyMap<string, string>;
  /** Runs (runOf) that have ended by themselves. */
  readonly ended: ReadonlySet<string>;
  /** Ids of containers that somebody has stopped by hand. */
  readonly stopped: ReadonlySet<string>;
}

export type Desired =
  | {
      readonly kind: 'up';
      readonly services: readonly Service[];
      /**
       * `deploy`: a version was assigned. `bring_back`: the last good one, after another failed. `keep`: what was healthy is to
       * be there still.
       */
      readonly purpose: 'deploy' | 'bring_back' | 'keep';
      /** Ids of the images that the version ran with, by name; those of a first deployment are not known. */
      readonly pins: Readonly<Record<string, string>>;
      /** False: the robot's own programs are not asked. */
      readonly locked: boolean;
    }
  | { readonly kind: 'down'; readonly volumes: boolean; readonly locked: boolean; readonly isTouched: boolean };

/** An image that must be here and can not be pulled. */
export class ImageMissingError extends Error {
  override readonly name = 'ImageMissingError';
  constructor(readonly image: string) {
    super(`${image} is not here, and its pull_policy is never: load it, or change the pull_policy`);
  }
}

/**
 * What is to be done so that what is desired runs: nothing of it is done here, and nothing asked.
 * @throws ImageMissingError
 */
export function plan(current: Current, desired: Desired): Step[] {
  if (desired.kind === 'down') return planDown(current, desired);
  const { services, purpose, pins, locked } = desired;
  // Not all where something is missing: one that has ended as it should would run again.
  const missing = services.filter((service) => purpose === 'keep' && !isKept(service, current));
  if (purpose === 'keep' && missing.length === 0) return [];
  return [
    ...pulls(current, services, purpose, pins),
    ...(locked ? [{ do: 'lock' } as const] : []),
    ...(purpose === 'deploy' ? [] : tags(current, services, pins)),
    ...halfMade(current.containers),
    { do: 'up', services: missing.map(({ name }) => name) },
    { do: 'watch' },
  ];
}

function planDown({ containers }: Current, desired: Desired & { kind: 'down' }): Step[] {
  if (containers.length === 0 && !desired.isTouched) return [];
  return [...(desired.locked ? [{ do: 'lock' } as const] : []), { do: 'down', volumes: desired.volumes }];
}

/** Each image once; what is needed by one service is there for all. */
function pulls(
  { images }: Current,
  services: readonly Service[],
  purpose: (Desired & { kind: 'up' })['purpose'],
  pins: Readonly<Record<string, string>>,
): Step[] {
  const steps = new Map<string, Step>();
  const known = new Set(images.values());
  for (const { image, platform, pullPolicy, scale } of services) {
    if (scale === 0) continue;
    const pin = pins[image];
    const isHere = images.has(image) || (purpose !== 'deploy' && pin !== undefined && known.has(pin));
    if (pullPolicy === 'never' && !isHere) throw new ImageMissingError(image);
    // What was good once is not to become something else by a newer image.
    const must = purpose === 'deploy' && mustPull(pullPolicy);
    if (isHere && !must) continue;
    if (!steps.has(image)) steps.set(image, { do: 'pull', image, platform, must });
  }
  return [...steps.values()];
}

/** `daily`, `weekly` and `every_…` of newer composes: how old an image is, is not known here, and a new assignment is rare. */
function mustPull(policy: string | null): boolean {
  return policy !== null && !['never', 'missing', 'if_not_present', 'build'].includes(policy);
}

function tags({ images }: Current, services: readonly Service[], pins: Readonly<Record<string, string>>): Step[] {
  const known = new Set(images.values());
  return [...new Set(services.map(({ image }) => image))].flatMap((image) => {
    const id = pins[image];
    const isMoved = id !== undefined && known.has(id) && images.get(image) !== id;
    return isMoved ? [{ do: 'tag', image, id } as const] : [];
  });
}

/** What compose puts before the name of a container that is to take the place of another. */
const SUCCESSOR_PREFIX = /^[0-9a-f]{12}_/;

/**
 * Compose makes the container that replaces another under a name of its own, removes the other and then gives it that one's name. Killed on
 * the way it leaves two for one place, of which it would keep either, or one whose name it would never mend.
 */
function halfMade(containers: readonly Container[]): Step[] {
  return containers.flatMap(({ id, name, state, isOneOff, replaces }): Step[] => {
    // Docker could not remove it, and can't start it again.
    if (state === 'dead') return [{ do: 'remove', id, name }];
    if (isOneOff || replaces === null || !SUCCESSOR_PREFIX.test(name)) return [];
    const finalName = name.replace(SUCCESSOR_PREFIX, '');
    const hasPredecessor = containers.some((other) => other.name === finalName);
    // The predecessor has all that is in its volumes, and where it is gone, the successor has.
    return [hasPredecessor ? { do: 'remove', id, name } : { do: 'rename', id, name: finalName }];
  });
}

/** Whether the service is as it was left: as many containers as it should have, none that has stopped and should not. */
function isKept({ name, scale, endIsAwaited }: Service, { containers, ended, stopped }: Current): boolean {
  const own = containers.filter((container) => container.service === name && !container.isOneOff);
  return own.length >= scale && own.every((one) => stopped.has(one.id) || isAsLeft(one, endIsAwaited, ended));
}

function isAsLeft(container: Container, endIsAwaited: boolean, ended: ReadonlySet<string>): boolean {
  const { state, exitCode, restartPolicy } = container;
  if (state === 'created' || state === 'dead' || state === 'removing') return false;
  if (state !== 'exited') return true;
  if (exitCode !== 0) return false;
  const ends = endIsAwaited || restartPolicy.name === 'no' || restartPolicy.name === 'on-failure';
  // An engine that ends stops what runs, and much of that ends with 0.
  return ends && ended.has(runOf(container));
}

/**
 * What is done about a version that failed: what was there before is brought back, or where nothing was, what there is of the failed one is
 * taken down; nothing, where it was never begun.
 */
export function planFailure(state: {
  readonly is_mixed: boolean;
  readonly good: unknown;
}): 'leave' | 'bring_back' | 'take_down' {
  if (!state.is_mixed) return 'leave';
  return state.good === null ? 'take_down' : 'bring_back';
}
