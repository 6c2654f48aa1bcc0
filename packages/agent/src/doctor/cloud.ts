import { z } from 'zod';
import type { Finding } from './check.js';
import type { Health, HealthAnswer } from './healthz.js';

const healthy = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'no JSON' });
      return z.NEVER;
    }
  })
  .pipe(z.object({ status: z.literal('ok') }));

/** Whether a Drover cloud answers at the address. */
export async function checkCloud(health: Promise<Health>): Promise<readonly Finding[]> {
  const asked = await health;
  return ['failure' in asked ? asked.failure : judge(asked.answer)];
}

function judge({ url, status, location, body, sentMs, receivedMs }: HealthAnswer): Finding {
  const fail = (message: string, remedy: string): Finding => ({ status: 'fail', message, remedy });
  if (status === 200 && healthy.safeParse(body).success) {
    const clear = url.startsWith('http:') ? ', in clear text' : '';
    return { status: 'ok', message: `reachable: ${url} answered in ${Math.round(receivedMs - sentMs)} ms${clear}` };
  }
  if (status >= 300 && status < 400) {
    const remedy = 'put the address that it leads to into DROVER_URL, without /healthz';
    return fail(`${url} redirects (${status}) to ${location ?? 'nowhere'}: the agent does not follow`, remedy);
  }
  if (status === 502 || status === 503 || status === 504) {
    const remedy = 'look at the cloud (does it run? its log), then at the proxy that leads to it';
    return fail(`${url} answered ${status}: a proxy is there, but no cloud behind it`, remedy);
  }
  if (status === 401 || status === 403 || status === 404) {
    // A proxy may well keep /healthz inside; whether robots get through is the token check's to say.
    const remedy = 'nothing to do where token is ok: a proxy keeps /healthz inside; else correct DROVER_URL';
    return { status: 'warn', message: `${url} answered ${status}: no health to be seen from here`, remedy };
  }
  const remedy = "correct DROVER_URL: the cloud's address, with the path under which a proxy serves it, if any";
  return fail(`something answers at ${url} (${status}), but it is no Drover cloud`, remedy);
}
