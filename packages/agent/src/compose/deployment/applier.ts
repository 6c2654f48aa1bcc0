import type { ComposeImage } from '@drover/shared/link/compose-status';
import type { Logger } from 'pino';
import type { ComposeCli } from '../docker/cli.js';
import type { Container } from '../docker/container.js';
import type { Engine } from '../docker/engine.js';
import { EngineUnavailableError } from '../docker/engine-error.js';
import type { Observer } from '../docker/observer.js';
import { DeployError } from '../document/deploy-error.js';
import { makeDeployable, type Owner, type Prepare } from '../document/deployable.js';
import { imagesHere } from '../document/images.js';
import type { Service } from '../document/services.js';
import type { Executor, Run } from './executor.js';
import { type Current, type Desired, plan, type Step } from './plan.js';
import type { Progress } from './progress.js';
import type { GoodVersion, StateFile, Version } from './state-file.js';

export interface ApplierParts {
  readonly state: StateFile;
  readonly cli: ComposeCli;
  readonly engine: Engine;
  readonly observer: Observer;
  readonly executor: Executor;
  readonly prepare: Prepare;
  /** Where documents are written for compose. */
  readonly directory: string;
  readonly progress: Progress;
  readonly log: Logger;
}

/** A piece of work from its beginning to its end, or until it is aborted. */
export interface Scope {
  readonly signal: AbortSignal;
  /** What there is to do at its end. */
  readonly ends: (() => void)[];
  isLocked: boolean;
}

/** What a piece of work is to come to. */
interface Aim extends Pick<Run, 'files' | 'services'> {
  readonly owner: Owner;
  readonly desired: Desired;
}

type How = Pick<Desired & { kind: 'up' }, 'purpose' | 'pins' | 'locked'>;

/** Looks at what there is, has it planned what is to be done, and has that done. */
export class Applier {
  readonly #parts: ApplierParts;
  /** Of the good version, so that a look whether it is there needs no compose. */
  #keptServices: { readonly of: Version; readonly services: readonly Service[] } | null = null;

  constructor(parts: ApplierParts) {
    this.#parts = parts;
  }

  /**
   * Makes a version run, and waits until it is healthy.
   * @returns the ids of the images that it runs with, by name.
   * @throws DeployError, ImageMissingError, UpdateLockError, EngineRefusedError: it has failed; EngineUnavailableError; what the signal ends.
   */
  async up(version: Version, how: How, robot: string, scope: Scope): Promise<Record<string, string>> {
    const { state, engine, observer, directory, prepare, progress } = this.#parts;
    if (how.purpose === 'deploy') progress.setPhase('checking');
    const owner: Owner = { robot, agent: state.state.agent };
    const { files, services } = await makeDeployable(version.content, { directory, owner, prepare }, scope.signal);
    await engine.ping();
    // So that its going away is seen.
    await observer.watching(scope.signal);
    const desired: Desired = { kind: 'up', services, ...how, locked: how.locked && !scope.isLocked };
    const first = await this.#present(owner, desired);
    const steps = plan(first, desired);
    if (how.purpose === 'keep' && steps.length > 0) progress.setUnsure(true);
    // What is brought back says nothing over the images of the version that failed, unless it must pull itself.
    if (how.purpose === 'deploy' || steps.some((step) => step.do === 'pull')) {
      progress.setImages(imagesOf(services, first.images, steps));
    }
    await this.#execute(steps, first, { files, services, owner, desired }, scope);
    this.#keptServices = { of: version, services };
    return ranWith(services, observer.containers);
  }

  /** Of the version that was brought up last; empty where none was by this agent. */
  get services(): readonly Service[] {
    return this.#keptServices?.services ?? [];
  }

  /** Sees that the good version is there as it was left; does nothing where it is. @throws as up() */
  async keep(good: GoodVersion, robot: string, scope: Scope): Promise<void> {
    const how: How = { purpose: 'keep', pins: good.images, locked: false };
    if (this.#keptServices?.of === good) {
      const { services } = this.#keptServices;
      const containers = await this.#ownContainers({ robot, agent: this.#parts.state.state.agent });
      if (plan({ containers, images: new Map(), ...this.#past() }, { kind: 'up', services, ...how }).length === 0)
        return;
    }
    await this.up(good, how, robot, scope);
  }

  /** Takes down what is there. @throws as up() */
  async down(options: { volumes: boolean; locked: boolean }, robot: string, scope: Scope): Promise<void> {
    const { state, engine, observer } = this.#parts;
    const { is_touched: isTouched, agent } = state.state;
    try {
      await engine.ping();
    } catch (error) {
      // Nothing was ever begun: a robot that has no engine is not to wait for one.
      if (!isTouched && error instanceof EngineUnavailableError) return;
      throw error;
    }
    await observer.watching(scope.signal);
    const owner: Owner = { robot, agent };
    const desired: Desired = { kind: 'down', ...options, locked: options.locked && !scope.isLocked, isTouched };
    const first = await this.#present(owner, desired);
    await this.#execute(plan(first, desired), first, { files: [], services: [], owner, desired }, scope);
  }

  /**
   * Does the steps, whose images and lock may have taken long: what is there by then is looked at and planned for anew, before
   * anything of it is changed.
   */
  async #execute(steps: readonly Step[], first: Current, what: Aim, scope: Scope): Promise<void> {
    const changes = steps.findIndex((step) => step.do !== 'pull' && step.do !== 'lock');
    if (changes < 0) return this.#parts.progress.setUnavailable(null);
    await this.#steps(steps.slice(0, changes), first, what, scope);
    if (changes === 0) return await this.#steps(steps, first, what, scope);
    const desired = { ...what.desired, locked: false };
    const now = await this.#present(what.owner, desired);
    const left = plan(now, desired).filter((step) => step.do !== 'pull');
    await this.#steps(left, now, what, scope);
  }

  async #steps(
    steps: readonly Step[],
    { containers }: Current,
    { files, services, owner, desired }: Aim,
    scope: Scope,
  ): Promise<void> {
    const { state, executor, progress, log } = this.#parts;
    progress.setUnavailable(null);
    const isBack = progress.phase === 'rolling_back';
    const isMixing = desired.kind === 'up' && desired.purpose === 'deploy';
    const run: Run = {
      ...{ files, services, before: containers },
      lookAtOwn: () => this.#ownContainers(owner),
      signal: scope.signal,
      onPhase: (phase, heldBy) => progress.setPhase(isBack && phase !== 'held' ? 'rolling_back' : phase, heldBy),
      onImage: (image, change) => progress.setImage({ image, ...change }),
      atEnd: (action) => void scope.ends.push(action),
    };
    for (const step of steps) {
      log.debug({ step }, 'a step of a deployment');
      // Before it, so that whoever comes after a crash knows.
      if (step.do === 'up' || step.do === 'remove')
        state.set({ is_touched: true, ...(isMixing && { is_mixed: true }) });
      await executor.execute(step, run);
      if (step.do === 'lock') scope.isLocked = true;
    }
  }

  /** What there is now, as far as a plan needs it. @throws DeployError where the project is another's. */
  async #present(owner: Owner, desired: Desired): Promise<Current> {
    const containers = await this.#ownContainers(owner);
    const images =
      desired.kind === 'up' ? await this.#imagesHere(desired.services, desired.pins) : new Map<string, string>();
    return { containers, images, ...this.#past() };
  }

  /** @throws DeployError where the project is another's. */
  async #ownContainers(owner: Owner): Promise<readonly Container[]> {
    const { state, observer, cli } = this.#parts;
    const containers = await observer.look();
    const foreign = containers.filter(({ robot, agent }) => robot !== owner.robot && agent !== owner.agent);
    if (foreign.length === 0) return containers;
    const names = foreign.map(({ name }) => name).join(', ');
    throw new DeployError(
      state.state.task?.kind === 'down' ? 'stop_failed' : 'start_failed',
      `the project ${cli.project} has containers that are not this agent's (${names}): remove them, or give this agent a ` +
        'DROVER_COMPOSE_PROJECT of its own',
    );
  }

  /** What has become of containers, and does not show on them. */
  #past() {
    const { state, observer } = this.#parts;
    return { ended: new Set(state.state.ended), stopped: observer.stopped };
  }

  async #imagesHere(services: readonly Service[], pins: How['pins']): Promise<Map<string, string>> {
    const names = new Set([...services.map(({ image }) => image), ...Object.values(pins)]);
    return await imagesHere(this.#parts.engine, names);
  }
}

function imagesOf(
  services: readonly Service[],
  here: ReadonlyMap<string, string>,
  steps: readonly Step[],
): ComposeImage[] {
  return [...new Set(services.map(({ image }) => image))].map((image) => {
    const isPulled = steps.some((step) => step.do === 'pull' && step.image === image);
    const isPresent = here.has(image) && !isPulled;
    return { image, state: isPresent ? 'present' : 'waiting', percent: isPresent ? 100 : null, message: null };
  });
}

function ranWith(services: readonly Service[], containers: readonly Container[]): Record<string, string> {
  const ran = new Map(containers.map(({ service, imageId }) => [service, imageId]));
  return Object.fromEntries(
    services.flatMap(({ name, image }) => {
      const id = ran.get(name);
      return id === undefined ? [] : [[image, id] as const];
    }),
  );
}
