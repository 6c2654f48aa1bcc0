import { errorCode, type Finding } from './check.js';

/** How long an answer of the cloud is waited for: less than a check may take, so that its words are the better ones. */
export const ANSWER_TIMEOUT_MS = 4_000;

const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Why there was no answer at all, in plain words.
 * @param nowMs the robot's clock: a wrong one makes good certificates look expired.
 */
export function explainNetworkFailure(error: unknown, url: URL, nowMs: number): Finding {
  const code = errorCode(error) ?? '';
  const fail = (message: string, remedy: string): Finding => ({ status: 'fail', message, remedy });
  const { host, hostname } = url;
  if (UNTRUSTED.has(code)) {
    const message = `the certificate of ${host} is not signed by an authority that this machine trusts (${code})`;
    return fail(message, 'with an authority of your own: set NODE_EXTRA_CA_CERTS to its certificate (a PEM file)');
  }
  switch (code) {
    case 'ENOTFOUND':
      return fail(
        `no machine is known by the name ${hostname} (ENOTFOUND)`,
        `check the name in DROVER_URL, and this machine's DNS: getent hosts ${hostname}`,
      );
    case 'EAI_AGAIN':
      return fail(
        `the name ${hostname} can't be looked up: no name server answers (EAI_AGAIN)`,
        'check that this machine has a network and a DNS server (resolvectl status)',
      );
    case 'ECONNREFUSED':
      return fail(
        `nothing listens at ${host} (connection refused)`,
        'start the cloud there, or correct host and port in DROVER_URL',
      );
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return fail(`there is no route to ${host} (${code})`, "check this machine's network: ip route");
    case 'ETIMEDOUT':
    case 'ABORT_ERR':
      return fail(
        `no answer from ${host} within ${ANSWER_TIMEOUT_MS / 1000} s`,
        'check the address in DROVER_URL, the network, and firewalls on the way',
      );
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return fail(
        `the certificate of ${host} ${code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'}, by this ` +
          `machine's clock (${new Date(nowMs).toISOString()})`,
        "set this machine's clock (timedatectl), or renew the certificate where the clock is right",
      );
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return fail(
        `the certificate that ${host} shows is for another name`,
        'put the name that the certificate is for into DROVER_URL',
      );
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return fail(
        `what listens at ${host} does not speak TLS (${code})`,
        'correct the port in DROVER_URL, or write http:// where it is meant to be clear text',
      );
    case 'ECONNRESET':
      return fail(
        `${host} closed the connection without an answer`,
        'check that DROVER_URL has the right one of http:// and https://, and the right port',
      );
    default:
      return explainOther(error, code, url);
  }
}

function explainOther(error: unknown, code: string, { host }: URL): Finding {
  const words = error instanceof Error ? error.message : String(error);
  if (code.startsWith('HPE_')) {
    const remedy = 'check that DROVER_URL has the right one of http:// and https://, and the right port';
    return { status: 'fail', message: `what listens at ${host} does not speak HTTP (${code})`, remedy };
  }
  return { status: 'fail', message: `no connection to ${host}: ${code === '' ? '' : `${code} `}${words}` };
}
