import { LINK_SUBPROTOCOL } from '@drover/shared/link/protocol';
import { WebSocket } from 'ws';
import { type Config, ConfigError, readToken } from '../config.js';
import { type Finding, fail, ok, warn } from './finding.js';

const TIMEOUT_MS = 5_000;
/** The cloud corrects stamps itself past this; a clock so far off still confuses whoever reads the robot's own logs. */
const CLOCK_OFFSET_MAX_MS = 1_000;
/** An HTTP Date has whole seconds. */
const DATE_RESOLUTION_MS = 1_000;

/** Whether the cloud answers, and how far our clock is from its. */
export async function checkCloud({ httpUrl }: Pick<Config, 'httpUrl'>, now: () => number): Promise<Finding[]> {
  const askedMs = now();
  let response: Response;
  try {
    response = await fetch(`${httpUrl}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'manual' });
  } catch (error) {
    return [fail('cloud', `${httpUrl} can not be reached: ${reasonOf(error)}`, remedyFor(error))];
  }
  if (!response.ok) {
    const remedy = 'check DROVER_URL: it should be the address of the cloud itself, without a path of the API';
    return [fail('cloud', `${httpUrl}/healthz answers ${response.status}`, remedy)];
  }
  const found = [ok('cloud', `${httpUrl} answers in ${Math.round(now() - askedMs)} ms`)];
  const date = Date.parse(response.headers.get('date') ?? '');
  return Number.isNaN(date) ? found : [...found, clockFinding(date + DATE_RESOLUTION_MS / 2 - (askedMs + now()) / 2)];
}

/** Whether the cloud takes our token. Closes before hello: a running agent's session is not touched. */
export async function checkToken(config: Pick<Config, 'linkUrl' | 'token'>): Promise<Finding> {
  let token: string;
  try {
    token = readToken(config.token);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return fail('token', error.message, 'write the token that POST /robots returned into the file');
  }
  return await new Promise((resolve) => {
    const socket = new WebSocket(config.linkUrl, LINK_SUBPROTOCOL, {
      headers: { authorization: `Bearer ${token}` },
      handshakeTimeout: TIMEOUT_MS,
      perMessageDeflate: false,
    });
    socket.on('open', () => {
      socket.close(1000);
      resolve(ok('token', 'the cloud takes it'));
    });
    socket.on('unexpected-response', (request, response) => {
      request.destroy();
      resolve(refusal(response.statusCode ?? 0));
    });
    socket.on('error', (error) => {
      resolve(fail('token', `the link can not be opened: ${reasonOf(error)}`, remedyFor(error)));
    });
  });
}

function refusal(status: number): Finding {
  if (status === 401 || status === 403) {
    const remedy = 'use the token of POST /robots; if it is lost, POST /robots/{id}/token makes a new one';
    return fail('token', 'the cloud refuses it: it is wrong, was rotated, or the robot was deleted', remedy);
  }
  const remedy = 'a proxy in between must let websocket upgrades on /agent through';
  return fail('token', `the link is answered with ${status} instead of a websocket`, remedy);
}

function clockFinding(offsetMs: number): Finding {
  const seconds = (Math.abs(offsetMs) / 1000).toFixed(1);
  if (Math.abs(offsetMs) <= CLOCK_OFFSET_MAX_MS + DATE_RESOLUTION_MS / 2) return ok('clock', 'agrees with the cloud');
  const message = `is ${seconds} s ${offsetMs > 0 ? 'behind' : 'ahead of'} the cloud; stamps are corrected there`;
  return warn('clock', message, 'switch time synchronisation on (timedatectl set-ntp true)');
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.name === 'TimeoutError' ? `no answer within ${TIMEOUT_MS / 1000} s` : cause.message || codeOf(cause);
}

function remedyFor(error: unknown): string {
  const code = codeOf(error instanceof Error && error.cause ? error.cause : error);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'check the name in DROVER_URL and the DNS of this robot';
  if (code === 'ECONNREFUSED') return 'check the port in DROVER_URL, and that the cloud runs';
  if (/CERT|TLS|SSL|SELF_SIGNED|ISSUER/.test(code)) {
    return 'the certificate is not trusted here: give its authority in NODE_EXTRA_CA_CERTS';
  }
  return 'check the network, a firewall in between, and DROVER_URL';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
