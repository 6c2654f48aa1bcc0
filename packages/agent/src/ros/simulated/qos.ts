import type { EndpointQos } from '@drover/shared/link/answers';

/** Quality of service, as far as ROS nodes set it. */
export interface Qos {
  readonly reliability: 'reliable' | 'best_effort';
  readonly durability: 'volatile' | 'transient_local';
  /** Messages kept for a late subscriber (publisher, transient local) or until they are taken (subscription). */
  readonly depth: number;
}

/** ROS's default profile. */
export const DEFAULT_QOS: Qos = { reliability: 'reliable', durability: 'volatile', depth: 10 };
/** Sensor data: a late one is no use. */
export const SENSOR_QOS: Qos = { reliability: 'best_effort', durability: 'volatile', depth: 5 };
/** What loggers publish with. */
export const ROSOUT_QOS: Qos = { reliability: 'reliable', durability: 'transient_local', depth: 1000 };

/** Whether a subscription may ask for more than a publisher offers: DDS then connects the two silently not at all. */
export function isCompatible(offered: Qos, requested: Qos): boolean {
  if (requested.reliability === 'reliable' && offered.reliability === 'best_effort') return false;
  return !(requested.durability === 'transient_local' && offered.durability === 'volatile');
}

/** The most that all of a topic's publishers offer, so that a subscription receives every one of them. */
export function followQos(offers: readonly Qos[], depth: number, ignoreHistory: boolean): Qos {
  const reliable = offers.every((offer) => offer.reliability === 'reliable');
  const latched =
    !ignoreHistory && offers.length > 0 && offers.every((offer) => offer.durability === 'transient_local');
  return {
    reliability: reliable ? 'reliable' : 'best_effort',
    durability: latched ? 'transient_local' : 'volatile',
    depth,
  };
}

/** What an endpoint tells others of its QoS. */
export function announced({ reliability, durability, depth }: Qos): EndpointQos {
  const unlimited = { deadline_s: null, lifespan_s: null, liveliness: 'automatic', liveliness_lease_s: null } as const;
  return { reliability, durability, history: 'keep_last', depth, ...unlimited };
}
