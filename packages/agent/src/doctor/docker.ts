import { request } from 'node:http';
import { errorCode, type Finding } from './check.js';
import { runDocker } from './docker-program.js';

const DEFAULT_HOST = 'unix:///var/run/docker.sock';
const ONLY_FOR = 'only needed for compose deployments';
const INSTALL =
  'install docker.io and docker-compose-v2 (Ubuntu), or docker-ce, docker-ce-cli and docker-compose-plugin ' +
  "(Docker's own packages)";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the Docker Engine can be used: by the agent itself (its socket) and by the docker program. */
export async function checkDocker(env: Environment, signal: AbortSignal): Promise<readonly Finding[]> {
  const host = env.DOCKER_HOST || DEFAULT_HOST;
  const [version, socket] = await Promise.all([
    runDocker(['version', '--format', '{{.Server.Version}}'], env, signal),
    host.startsWith('unix://') ? ping(host.slice('unix://'.length), signal) : 'not asked',
  ]);
  if (version.kind === 'succeeded') return [{ status: 'ok', message: `Docker Engine ${version.stdout} at ${host}` }];
  const warn = (message: string, remedy: string): readonly Finding[] => [
    { status: 'warn', message: `${message}; ${ONLY_FOR}`, remedy },
  ];
  if (version.kind === 'missing') {
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
      return warn(
        `this user may not use the Docker Engine (${host})`,
        "sudo usermod -aG docker USER for the agent's user, then log in anew (who is in that group is as good as root)",
      );
    default:
      return warn(
        `the Docker Engine can't be reached at ${host}: ${version.words}`,
        'check DOCKER_HOST and the Engine',
      );
  }
}

/** Whether `docker compose` is there: it is a package of its own. */
export async function checkCompose(env: Environment, signal: AbortSignal): Promise<readonly Finding[]> {
  const version = await runDocker(['compose', 'version', '--short'], env, signal);
  if (version.kind === 'succeeded') return [{ status: 'ok', message: `docker compose ${version.stdout}` }];
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
