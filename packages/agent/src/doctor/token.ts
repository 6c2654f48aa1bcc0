import { LINK_SUBPROTOCOL } from '@drover/shared/link/protocol';
import { WebSocket } from 'ws';
import { ConfigError, readToken, type TokenSource } from '../config.js';
import { type Finding, notChecked } from './check.js';
import type { Health } from './healthz.js';
import { ANSWER_TIMEOUT_MS, explainNetworkFailure } from './network-failure.js';

/** How long the cloud may take to answer our close. */
const CLOSE_TIMEOUT_MS = 500;

type Upgrade =
  | { readonly kind: 'open' }
  | { readonly kind: 'answered'; readonly status: number; readonly location: string | null }
  | { readonly kind: 'failed'; readonly error: Error };

export interface TokenCheckOptions {
  readonly linkUrl: string;
  readonly token: TokenSource;
  readonly health: Promise<Health>;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/**
 * Whether the cloud takes the robot's token: a real websocket, closed again before hello. The cloud knows a session only
 * from its hello on, so an agent that is connected with the same token is not disturbed.
 */
export async function checkToken(options: TokenCheckOptions): Promise<readonly Finding[]> {
  const { linkUrl, health, now } = options;
  let token: string;
  try {
    token = readToken(options.token);
  } catch (error) {
    if (error instanceof ConfigError) return [{ status: 'fail', message: error.message }];
    throw error;
  }
  const upgrade = await open(linkUrl, token, options.signal);
  switch (upgrade.kind) {
    case 'open':
      return [{ status: 'ok', message: `accepted: ${linkUrl} speaks ${LINK_SUBPROTOCOL}` }];
    case 'answered':
      return [judge(upgrade.status, upgrade.location, linkUrl, options.token)];
    case 'failed':
      // Why the cloud can't be reached stands in its own line.
      if ('failure' in (await health)) return notChecked('the cloud was not reached');
      return [explainNetworkFailure(upgrade.error, new URL(linkUrl), now())];
  }
}

function open(linkUrl: string, token: string, signal: AbortSignal): Promise<Upgrade> {
  return new Promise((resolve) => {
    const socket = new WebSocket(linkUrl, LINK_SUBPROTOCOL, {
      headers: { authorization: `Bearer ${token}` },
      handshakeTimeout: ANSWER_TIMEOUT_MS,
      perMessageDeflate: false,
      maxPayload: 64 * 1024,
    });
    signal.addEventListener('abort', () => socket.terminate(), { once: true });
    socket.on('error', (error) => resolve({ kind: 'failed', error }));
    socket.on('unexpected-response', (request, response) => {
      request.destroy();
      const { location = null } = response.headers;
      resolve({ kind: 'answered', status: response.statusCode ?? 0, location });
    });
    socket.on('open', () => {
      const impatience = setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS);
      socket.on('close', () => {
        clearTimeout(impatience);
        resolve({ kind: 'open' });
      });
      socket.close(1000, 'doctor has seen enough');
    });
  });
}

function judge(status: number, location: string | null, linkUrl: string, source: TokenSource): Finding {
  const fail = (message: string, remedy: string): Finding => ({ status: 'fail', message, remedy });
  if (status === 401 || status === 403) {
    const place = 'file' in source ? source.file : 'DROVER_TOKEN (or token: in agent.yaml)';
    return fail(
      `refused by the cloud (${status}): the token is wrong, was rotated, or the robot was deleted`,
      `register the robot (POST /robots) or make it a new token (POST /robots/{id}/token), and put that into ${place}`,
    );
  }
  if (status === 409) {
    return { status: 'ok', message: `accepted; another agent is connected with it now (${status})` };
  }
  if (status === 429 || status >= 500) {
    return fail(
      `${linkUrl} takes no session now (${status})`,
      'the agent tries again by itself; if it stays so, look at the cloud and at the proxy before it',
    );
  }
  if (status >= 300 && status < 400) {
    return fail(`${linkUrl} redirects (${status}) to ${location ?? 'nowhere'}`, 'put the new address into DROVER_URL');
  }
  return fail(
    `no websocket at ${linkUrl} (${status})`,
    'a proxy on the way must pass websocket upgrades on (nginx: proxy_http_version 1.1; proxy_set_header Upgrade ' +
      '$http_upgrade; proxy_set_header Connection "upgrade"), and DROVER_URL must have the path it serves the cloud under',
  );
}
