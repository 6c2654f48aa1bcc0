import { request } from 'node:http';
import { errorCode, type Finding } from './check.js';
import { type ProgramEnd, runDocker } from './docker-program.js';

const DEFAULT_HOST = 'unix:///var/run/docker.sock';
const ONLY_FOR = 'only needed for compose deployments';
const INSTALL =
  'install docker.io and docker-compose-v2 (Ubuntu), or docker-ce, docker-ce-cli and docker-compose-plugin ' +
  "(Docker's own packages)";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the Docker Engine can be used: by the agent itself (its socket) and by the docker program. */
export async function checkDocker(env: Environment, signal: AbortSignal): Promise<readonly Finding[]> {
  const host = env.DOCKER_HOST || (await contextHost(env, signal)) || DEFAULT_HOST;
  const [version, socket] = await Promise.all([
    runDocker(['version', '--format', '{{.Server.Version}}'], env, signal),
    host.startsWith('unix://') ? ping(host.slice('unix://'.length), signal) : 'not asked',
  ]);
  if (version.kind === 'succeeded') {
    return [{ status: 'ok', message: `Docker Engine ${version.stdout} at ${host}` }, ...reservations(env, host)];
  }
  return [judgeAbsence(version, socket, host)];
}

/**
 * Why the Engine can't be used.
 * @param socket what ping() says of it.
 */
export function judgeAbsence(
  version: Exclude<ProgramEnd, { kind: 'succeeded' }>,
  socket: string,
  host: string,
): Finding {
  const warn = (message: string, remedy: string): Finding => {
    return { status: 'warn', message: `${message}; ${ONLY_FOR}`, remedy };
  };
  const isProgramMissing = version.kind === 'missing';
  if (isProgramMissing && socket !== 'EACCES') {
    const engine = socket === 'answered' ? ' (the Engine itself answers)' : '';
    return warn(`there is no docker program in the PATH${engine}`, INSTALL);
  }
  switch (socket) {
    case 'ENOENT':
      return warn(
        `the Docker Engine does not run: no socket at ${host}`,
        `sudo systemctl enable --now docker; or ${INSTALL}`,
      );
    case 'ECONNREFUSED':
      return warn(`the Docker Engine does not run: nothing answers at ${host}`, 'sudo systemctl restart docker');
    case 'EACCES':
      return warn(`this user may not use the Docker Engine (${host})`, remedyForRights(isProgramMissing));
    default:
      return warn(
        `the Docker Engine can't be reached at ${host}: ${isProgramMissing ? socket : version.words}`,
        'check DOCKER_HOST and the Engine',
      );
  }
}

function remedyForRights(isProgramMissing: boolean): string {
  const group =
    "sudo usermod -aG docker USER for the agent's user, then log in anew (who is in that group is as good as root)";
  return isProgramMissing ? `${group}\nthere is no docker program in the PATH either: ${INSTALL}` : group;
}

/** Where the docker program's own configuration leads; the agent goes there as well. */
async function contextHost(env: Environment, signal: AbortSignal): Promise<string> {
  const asked = await runDocker(['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}'], env, signal);
  return asked.kind === 'succeeded' ? asked.stdout : '';
}

/** What works for the docker program, and yet not as it should. */
function reservations(env: Environment, host: string): readonly Finding[] {
  if (!/^(unix|tcp):/.test(host)) {
    const message = `the agent does not go to an Engine at ${host}, as the docker program does; ${ONLY_FOR}`;
    return [{ status: 'warn', message, remedy: 'set DOCKER_HOST to a unix:// or tcp:// address of it' }];
  }
  // An engine does what it is told as root, and without TLS it does not ask by whom.
  if (!host.startsWith('tcp://') || env.DOCKER_TLS_VERIFY || env.DOCKER_TLS) return [];
  const message = `the Docker Engine at ${host} takes orders without TLS: whoever reaches that port is root there`;
  const remedy =
    `let it listen on its socket alone and unset DOCKER_HOST; or give it TLS, and the agent DOCKER_TLS_VERIFY=1 and\n` +
    'DOCKER_CERT_PATH, a directory with ca.pem, cert.pem and key.pem';
  return [{ status: 'warn', message, remedy }];
}

/**
 * Whether `docker compose` is there: it is a package of its own.
 * @param project of what is deployed; null where its setting is wrong.
 */
export async function checkCompose(
  env: Environment,
  project: string | null,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const version = await runDocker(['compose', 'version', '--short'], env, signal);
  if (version.kind === 'succeeded') {
    const deploys = project === null ? '' : `; deployments are the project ${project}`;
    return [{ status: 'ok', message: `docker compose ${version.stdout}${deploys}` }];
  }
  const what = version.kind === 'missing' ? 'no docker program, so no docker compose' : 'docker has no compose plugin';
  const remedy = "install docker-compose-v2 (Ubuntu) or docker-compose-plugin (Docker's own packages)";
  return [{ status: 'warn', message: `${what}; ${ONLY_FOR}`, remedy }];
}

/** @returns `answered`, or the code of the error. */
function ping(socketPath: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: '/_ping', agent: false, signal }, (response) => {
      resolve('answered');
      response.destroy();
    });
    asked.on('error', (error) => resolve(errorCode(error) ?? error.message));
    asked.end();
  });
}
