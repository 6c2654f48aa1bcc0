import { mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { RobotComposeErrorCode } from '@drover/shared/api/compose';
import type { ComposePlanAnswer } from '@drover/shared/link/compose-answers';
import type { ComposeVersion } from '@drover/shared/link/compose-status';
import type { ContainerInfo } from 'dockerode';
import { ImageMissingError, plan, type Step } from '../deployment/plan.js';
import { diskTrouble } from '../disk-trouble.js';
import { type CliOptions, ComposeCli } from '../docker/cli.js';
import type { Container } from '../docker/container.js';
import type { Engine } from '../docker/engine.js';
import { EngineRefusedError, EngineUnavailableError } from '../docker/engine-error.js';
import { composeConfig } from '../document/compose-config.js';
import { DeployError } from '../document/deploy-error.js';
import { type Deployable, makeDeployable, type Owner } from '../document/deployable.js';
import { DocumentRefused } from '../document/document.js';
import { imagesHere } from '../document/images.js';
import { examineDocument, type PrepareOptions } from '../document/prepare.js';
import type { Service } from '../document/services.js';
import { listeners, portsOf } from './ports.js';
import { downloadSize } from './registry-size.js';
import { servicePlans } from './service-plans.js';

export interface DryRunParts {
  readonly engine: Engine;
  readonly cli: CliOptions;
  readonly rules: PrepareOptions['rules'];
  readonly lookAround: PrepareOptions['lookAround'];
  /** Whose containers are this agent's. */
  readonly owner: () => Owner;
  readonly running: () => ComposeVersion | null;
  /** Containers of the project, all of them. */
  readonly containers: () => Promise<readonly Container[]>;
  /** How long compose may take to understand a document. */
  readonly configMsMax?: number;
}

type Content = Readonly<Record<string, unknown>>;
type Images = ComposePlanAnswer['images'];

/** Plans wait for each other, and whoever asked waits for an answer. */
const CONFIG_MS_MAX = 20_000;
/** Registries asked at once. */
const ASKED_AT_ONCE = 4;
/** What is downloaded is compressed, and is there beside what it is unpacked to for a while: a usual ratio, on the safe side. */
const DISK_PER_DOWNLOAD = 4;
const MESSAGE_LENGTH_MAX = 4096;

/**
 * Tells what assigning a document would do now, by the same code that would do it: nothing at the engine changes, and nothing is
 * downloaded but manifests. What it finds holds for the moment it looks.
 */
export class DryRun {
  readonly #parts: DryRunParts;
  /** One at a time: each writes the same files for compose. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: DryRunParts) {
    this.#parts = parts;
  }

  /** Never rejects for what is wrong with the document or the engine: that is the answer. */
  async answer(content: Content): Promise<ComposePlanAnswer> {
    const turn = this.#last.then(() => this.#answer(content));
    this.#last = turn.catch(() => {});
    return await turn;
  }

  async #answer(content: Content): Promise<ComposePlanAnswer> {
    const nothing: ComposePlanAnswer = {
      running: this.#parts.running(),
      services: [],
      images: [],
      disk: { free_bytes: null, needed_bytes: null, fits: null },
      ports: [],
      refusals: [],
      error: null,
    };
    try {
      return { ...nothing, ...(await this.#planned(content)) };
    } catch (error) {
      const told = errorOf(error, this.#parts.cli.directory);
      if (told === null) throw error;
      return { ...nothing, error: told };
    }
  }

  async #planned(content: Content): Promise<Omit<ComposePlanAnswer, 'running'>> {
    const { engine, rules, lookAround, owner, configMsMax = CONFIG_MS_MAX } = this.#parts;
    // Apart from the directory of what is being deployed meanwhile.
    const cli = { ...this.#parts.cli, directory: join(this.#parts.cli.directory, 'plan') };
    mkdirSync(cli.directory, { recursive: true, mode: 0o700 });
    const { refusals, ...prepared } = await examineDocument(content, { cli, rules, lookAround, configMsMax });
    const options = { directory: cli.directory, owner: owner(), prepare: () => Promise.resolve(prepared) };
    const deployable = await makeDeployable(content, options, new AbortController().signal);
    const containers = await this.#parts.containers();
    const foreign = containers.filter(
      ({ robot, agent }) => robot !== options.owner.robot && agent !== options.owner.agent,
    );
    const listed = await engine.look((docker) => docker.listContainers({ all: true }));
    const hashes = await hashesOf(new ComposeCli(cli), deployable, configMsMax);
    const present = await imagesHere(engine, new Set(deployable.services.map(({ image }) => image)));
    const { pulls, missing } = pullsOf(deployable.services, containers, present);
    const services = servicePlans({
      services: deployable.services,
      containers,
      hashes,
      deployed: new Map(listed.map(({ Id, Labels }) => [Id, Labels['com.docker.compose.config-hash'] ?? ''])),
      images: present,
      pulls: new Set(pulls.map(({ image }) => image)),
    });
    const images = await this.#images(deployable.services, present, pulls, refusals.length > 0);
    const disk = await this.#disk(images);
    const ports = portsOf(prepared.document, takenPorts(listed, this.#parts.cli.project), listeners());
    const taken = ports.find(({ free }) => !free);
    return {
      services,
      images,
      disk,
      ports,
      refusals: [...refusals],
      error:
        (foreign[0] &&
          failure('start_failed', `the project has containers that are not this agent's: ${foreign[0].name}`)) ||
        missing ||
        (disk.fits === false ? failure('image_pull_failed', 'the disk does not hold the images') : null) ||
        (taken ? failure('start_failed', `the port ${taken.port} is taken${by(taken.taken_by)}`) : null),
    };
  }

  /** @param isRefused where the policy refuses the document, its registries are not to be spoken to. */
  async #images(
    services: readonly Service[],
    present: ReadonlyMap<string, string>,
    pulls: readonly Pull[],
    isRefused: boolean,
  ): Promise<Images> {
    const { engine, cli } = this.#parts;
    const { Os, Arch } = await engine.look((docker) => docker.version());
    const names = [...new Set(services.filter(({ scale }) => scale > 0).map(({ image }) => image))].sort();
    const found: Images = [];
    for (let at = 0; at < names.length; at += ASKED_AT_ONCE) {
      const some = names.slice(at, at + ASKED_AT_ONCE).map(async (image) => {
        const pull = pulls.find((one) => one.image === image);
        const isPresent = present.has(image);
        const told = { image, present: isPresent, pull: pull !== undefined };
        if (pull === undefined || isRefused) return { ...told, download_bytes: null, message: null };
        const { bytes, message } = await downloadSize(image, pull.platform ?? `${Os}/${Arch}`, cli.env);
        const atMost = isPresent ? 'at most: what has not changed since is not downloaded again' : null;
        return { ...told, download_bytes: bytes, message: message ?? atMost };
      });
      found.push(...(await Promise.all(some)));
    }
    return found;
  }

  async #disk(images: Images): Promise<ComposePlanAnswer['disk']> {
    const { DockerRootDir: root } = await this.#parts.engine.look((docker) => docker.info());
    const free = await freeBytes(root);
    const sizes = images.filter(({ pull }) => pull).map(({ download_bytes }) => download_bytes);
    const isKnown = sizes.every((size) => size !== null);
    const needed = isKnown ? sizes.reduce((sum, size) => sum + (size ?? 0), 0) : null;
    const fits = free === null || needed === null ? null : needed * DISK_PER_DOWNLOAD <= free;
    return { free_bytes: free, needed_bytes: needed, fits };
  }
}

type Pull = Step & { do: 'pull' };

/** As a deployment would plan them. */
function pullsOf(
  services: readonly Service[],
  containers: readonly Container[],
  images: ReadonlyMap<string, string>,
): { pulls: readonly Pull[]; missing: ComposePlanAnswer['error'] } {
  try {
    const desired = { kind: 'up', services, purpose: 'deploy', pins: {}, locked: false } as const;
    const steps = plan({ containers, images, ended: new Set(), stopped: new Set() }, desired);
    return { pulls: steps.filter((step) => step.do === 'pull'), missing: null };
  } catch (error) {
    if (!(error instanceof ImageMissingError)) throw error;
    return { pulls: [], missing: failure('image_pull_failed', error.message) };
  }
}

/** Compose's own mark of what a service is made of, by service. */
async function hashesOf(compose: ComposeCli, { files }: Deployable, msMax: number): Promise<Map<string, string>> {
  const printed = await composeConfig(compose, ['--hash', '*'], { files, msMax });
  const pairs = printed.trim().split('\n');
  return new Map(pairs.map((line) => line.split(' ', 2) as [string, string]));
}

function takenPorts(listed: readonly ContainerInfo[], project: string) {
  return listed.flatMap(({ Names, Labels, Ports }) =>
    Ports.filter(({ PublicPort }) => PublicPort > 0).map(({ PublicPort, Type, IP }) => ({
      port: PublicPort,
      protocol: Type,
      ip: IP,
      container: (Names[0] ?? '').replace(/^\//, ''),
      isOurs: Labels['com.docker.compose.project'] === project,
    })),
  );
}

/** Null where the engine is on another machine, or the agent in a container that does not see it. */
async function freeBytes(directory: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** Null for an error of this program. */
function errorOf(error: unknown, directory: string): ComposePlanAnswer['error'] {
  // As it is told of a deployment, which waits then.
  const trouble = diskTrouble(error, directory);
  if (trouble !== null) return failure('docker_unavailable', trouble);
  if (error instanceof DocumentRefused || error instanceof DeployError) return failure(error.code, error.message);
  if (error instanceof EngineRefusedError) return failure('start_failed', error.message);
  return error instanceof EngineUnavailableError ? failure('docker_unavailable', error.message) : null;
}

function failure(code: RobotComposeErrorCode, message: string) {
  return { code, message: message.slice(0, MESSAGE_LENGTH_MAX) };
}

function by(container: string | null): string {
  return container === null ? '' : ` by ${container}`;
}
