import { Judge, type Refusal, type Surroundings } from './compose-judge.js';
import { KNOWN_KEYS } from './compose-keys.js';
import { checkMounts } from './compose-mounts.js';
import { checkNetwork, checkText, checkVolume } from './compose-resources.js';
import type { ComposeRules } from './compose-rules.js';
import { checkService } from './compose-service.js';

export type { Refusal, Surroundings } from './compose-judge.js';

/**
 * What the robot's policy refuses in a document, all of it up to a bound; none: it may run. Nothing is touched.
 *
 * It goes by the normal form that compose itself gives a document, in which every short way of writing is written out, and lets
 * through only what it knows: a key or a form that it does not know is refused.
 * @param normalised as `docker compose config --format json` has it, `$$` made `$` again.
 */
export function checkPolicy(
  normalised: Readonly<Record<string, unknown>>,
  rules: ComposeRules,
  surroundings: Surroundings,
): Refusal[] {
  const judge = new Judge(rules, surroundings);
  judge.knownKeys(normalised, '', KNOWN_KEYS.document);
  const services = judge.mapping(normalised.services, 'services');
  const names = new Set(Object.keys(services));
  for (const [name, service] of Object.entries(services)) {
    checkService(judge, judge.mapping(service, `services.${name}`), `services.${name}`, names);
  }
  for (const [name, volume] of Object.entries(judge.mapping(normalised.volumes, 'volumes'))) {
    checkVolume(judge, judge.mapping(volume, `volumes.${name}`), `volumes.${name}`);
  }
  for (const [name, network] of Object.entries(judge.mapping(normalised.networks, 'networks'))) {
    checkNetwork(judge, judge.mapping(network, `networks.${name}`), `networks.${name}`);
  }
  for (const kind of ['configs', 'secrets'] as const) {
    for (const [name, text] of Object.entries(judge.mapping(normalised[kind], kind))) {
      checkText(judge, judge.mapping(text, `${kind}.${name}`), `${kind}.${name}`);
    }
  }
  checkMounts(judge, normalised);
  return judge.refusals;
}
