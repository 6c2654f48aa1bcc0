import type { ComposePlanAnswer } from '@drover/shared/link/compose-answers';
import type { Container } from '../docker/container.js';
import type { Service } from '../document/services.js';

export type ServicePlan = ComposePlanAnswer['services'][number];

export interface Situation {
  readonly services: readonly Service[];
  /** Of the project. */
  readonly containers: readonly Container[];
  /** Compose's mark of each service as the document has it, and of each container, by its id, as it was made. */
  readonly hashes: ReadonlyMap<string, string>;
  readonly deployed: ReadonlyMap<string, string>;
  /** Ids of the images that are here, by name. */
  readonly images: ReadonlyMap<string, string>;
  /** Names of those that would be pulled. */
  readonly pulls: ReadonlySet<string>;
}

/** What compose would do with each service, in name order. */
export function servicePlans(situation: Situation): ServicePlan[] {
  const { services, containers } = situation;
  const known = new Set(services.map(({ name }) => name));
  const gone = [...new Set(containers.map(({ service }) => service))].filter((name) => !known.has(name));
  const plans = [
    ...services.map((service) => ({ service: service.name, ...actionFor(service, situation) })),
    ...gone.map((service) => ({ service, action: 'remove' as const, reason: 'it is not in the document' })),
  ];
  return plans.sort((a, b) => (a.service < b.service ? -1 : 1));
}

function actionFor(service: Service, situation: Situation): Omit<ServicePlan, 'service'> {
  const { containers, hashes, deployed, images, pulls } = situation;
  const { name, image, scale } = service;
  const own = containers.filter((container) => container.service === name && !container.isOneOff);
  if (scale === 0)
    return own.length === 0
      ? { action: 'keep', reason: 'none are wanted' }
      : { action: 'remove', reason: 'none are wanted' };
  if (own.length === 0) return { action: 'create', reason: null };
  if (own.some(({ id }) => deployed.get(id) !== hashes.get(name))) {
    return {
      action: 'recreate',
      reason: own.some((one) => one.image !== image) ? 'image changed' : 'configuration changed',
    };
  }
  const here = images.get(image);
  if (here === undefined) return { action: 'recreate', reason: 'image is pulled again' };
  if (own.some(({ imageId }) => imageId !== here)) return { action: 'recreate', reason: 'a newer image is here' };
  if (own.length < scale) return { action: 'create', reason: `${scale - own.length} more of it` };
  if (own.some(({ state }) => state !== 'running')) return { action: 'start', reason: 'not all of it is running' };
  if (own.length > scale) return { action: 'keep', reason: `${own.length - scale} less of it` };
  if (pulls.has(image)) return { action: 'keep', reason: 'made anew if the registry has a newer image' };
  return { action: 'keep', reason: null };
}
