import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type Docker from 'dockerode';
import { type Container, containerOf, PROJECT_LABEL } from './container.js';
import type { DockerEnv } from './docker-env.js';
import { EngineRefusedError, EngineUnavailableError, engineError } from './engine-error.js';

const DEFAULT_HOST = 'unix:///var/run/docker.sock';
/** An engine that does not answer in that time is none; pulls and streams have no such bound. */
const ANSWER_MS_MAX = 30_000;
const INSPECTED_AT_ONCE = 8;
/**
 * A connection for each request: an engine that is asked to end takes no new ones, but answers on those that there are while it
 * stops its containers, whose end would then look like their own.
 */
const ONE_EACH = { keepAlive: false };

/** The Docker Engine that the docker program uses too, as far as it is looked at; compose changes things. */
export class Engine {
  readonly #env: DockerEnv;
  readonly #answerMsMax: number;
  #docker: Promise<{ docker: Docker; host: string }> | null = null;

  constructor(env: DockerEnv, answerMsMax = ANSWER_MS_MAX) {
    this.#env = env;
    this.#answerMsMax = answerMsMax;
  }

  /** Calls the engine. @throws EngineUnavailableError | EngineRefusedError */
  async ask<T>(action: (docker: Docker) => Promise<T>): Promise<T> {
    let host = this.#env.DOCKER_HOST || DEFAULT_HOST;
    try {
      this.#docker ??= connect(this.#env);
      const connected = await this.#docker;
      host = connected.host;
      return await action(connected.docker);
    } catch (cause) {
      const error = engineError(cause, host);
      // The context may be another one by the time it is there.
      if (error instanceof EngineUnavailableError) this.#docker = null;
      throw error;
    }
  }

  /** As ask(), for what an engine that works answers at once: one that hangs is none. */
  async look<T>(action: (docker: Docker) => Promise<T>): Promise<T> {
    return await this.ask((docker) => answered(action(docker), this.#answerMsMax));
  }

  /** @throws EngineUnavailableError where it does not answer. */
  async ping(): Promise<void> {
    await this.look((docker) => docker.ping());
  }

  /** All containers of a project, in order of service and number. */
  async containers(project: string): Promise<Container[]> {
    return await this.ask(async (docker) => {
      const filters = { label: [`${PROJECT_LABEL}=${project}`] };
      const listed = await answered(docker.listContainers({ all: true, filters }));
      const found: Container[] = [];
      for (let at = 0; at < listed.length; at += INSPECTED_AT_ONCE) {
        const some = listed.slice(at, at + INSPECTED_AT_ONCE).map(({ Id }) => inspect(docker, Id));
        found.push(...(await Promise.all(some)).filter((container) => container !== null));
      }
      return found.sort((a, b) => compare(a.service, b.service) || a.number - b.number || compare(a.name, b.name));
    });
  }

  /** The id of an image by its name, or by its id; null where the engine does not have it. */
  async imageId(image: string): Promise<string | null> {
    return await this.ask(async (docker) => {
      try {
        return (await answered(docker.getImage(image).inspect())).Id;
      } catch (error) {
        return orIfGone(error, null);
      }
    });
  }

  /** Gives an image that is here a name. */
  async tag(id: string, image: string): Promise<void> {
    const { repository, tag } = splitTag(image);
    await this.ask((docker) => answered(docker.getImage(id).tag({ repo: repository, tag })));
  }

  /** Removes a container, running or not; its volumes stay. */
  async remove(id: string): Promise<void> {
    await this.ask(async (docker) => {
      try {
        await answered(docker.getContainer(id).remove({ force: true }));
      } catch (error) {
        orIfGone(error, undefined);
      }
    });
  }

  /** Gives a container another name. */
  async rename(id: string, name: string): Promise<void> {
    await this.ask((docker) => answered(docker.getContainer(id).rename({ name })));
  }

  /** What the last healthcheck of a container said; empty where there is none, or it can't be had. */
  async lastHealthcheck(id: string): Promise<string> {
    try {
      const { State } = await this.ask((docker) => answered(docker.getContainer(id).inspect()));
      return State.Health?.Log?.at(-1)?.Output ?? '';
    } catch {
      return '';
    }
  }
}

/** A name with its tag apart; `latest` where it has none. Digests are no tags. */
function splitTag(image: string): { repository: string; tag: string } {
  const name = image.split('@', 1)[0] ?? image;
  const colon = name.lastIndexOf(':');
  // A colon before a slash is that of the registry's port.
  if (colon < 0 || name.indexOf('/', colon) >= 0) return { repository: name, tag: 'latest' };
  return { repository: name.slice(0, colon), tag: name.slice(colon + 1) };
}

/** An engine that hangs would else hold up everything. */
async function answered<T>(answer: Promise<T>, msMax = ANSWER_MS_MAX): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const give = () => reject(new EngineUnavailableError(`the Docker Engine has not answered in ${msMax} ms`));
    timer = setTimeout(give, msMax);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function connect(env: DockerEnv): Promise<{ docker: Docker; host: string }> {
  const host = env.DOCKER_HOST || (await contextHost(env)) || DEFAULT_HOST;
  // Loaded where compose is used: robots without it need not hold it in memory.
  const { default: Client } = await import('dockerode');
  const agent = new HttpAgent(ONE_EACH);
  // Options of its own transport, docker-modem, which its types leave out, come in by a variable.
  if (host.startsWith('unix://')) {
    const options = { socketPath: host.slice('unix://'.length), agent };
    return { docker: new Client(options), host };
  }
  if (!host.startsWith('tcp://')) {
    throw new EngineUnavailableError(`DOCKER_HOST ${host} is not understood here: use unix:// or tcp://`);
  }
  const { hostname, port } = new URL(host);
  const isTls = (env.DOCKER_TLS_VERIFY ?? '') !== '' || (env.DOCKER_TLS ?? '') !== '';
  if (!isTls) {
    const options = { host: hostname, port: port || 2375, protocol: 'http', agent } as const;
    return { docker: new Client(options), host };
  }
  const folder = env.DOCKER_CERT_PATH ?? join(env.HOME ?? '', '.docker');
  const pem = (name: string) => readFileSync(join(folder, name), 'utf8');
  const keys = { ca: pem('ca.pem'), cert: pem('cert.pem'), key: pem('key.pem') };
  const tls = { host: hostname, port: port || 2376, protocol: 'https', agent: new HttpsAgent(ONE_EACH) } as const;
  const options = { ...keys, ...tls };
  return { docker: new Client(options), host };
}

/** Where the docker program's own configuration leads; null where there is no such program. */
async function contextHost(env: DockerEnv): Promise<string | null> {
  try {
    const args = ['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}'];
    const { stdout } = await promisify(execFile)('docker', args, { env, timeout: ANSWER_MS_MAX });
    return stdout.trim() || null;
  } catch {
    return null;
  }
}

async function inspect(docker: Docker, id: string): Promise<Container | null> {
  try {
    return containerOf(await answered(docker.getContainer(id).inspect()));
  } catch (error) {
    // Removed since it was listed.
    return orIfGone(error, null);
  }
}

function orIfGone<T>(error: unknown, instead: T): T {
  const known = engineError(error, '');
  // 409: it is being removed already.
  if (known instanceof EngineRefusedError && (known.status === 404 || known.status === 409)) return instead;
  throw error;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
