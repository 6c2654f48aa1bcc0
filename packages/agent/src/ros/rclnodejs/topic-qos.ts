import { QOS, type TopicEndpoint } from './api.js';

/** What a subscription asks of the publishers. */
export interface TopicQos {
  readonly reliable: boolean;
  readonly transientLocal: boolean;
}

/**
 * For a topic without publishers. It matches what most publish, and nothing is lost while it turns out otherwise: a
 * transient local publisher sends its history again to the subscription made for it. (Only a best-effort one is not
 * heard until it is noticed.)
 */
export const QOS_WITHOUT_PUBLISHERS: TopicQos = { reliable: true, transientLocal: false };

/**
 * The strictest that every publisher offers, so that all of them are heard; undefined without publishers.
 * @param ignoreHistory volatile whatever they offer.
 */
export function qosFollowing(publishers: readonly TopicEndpoint[], ignoreHistory: boolean): TopicQos | undefined {
  if (publishers.length === 0) return undefined;
  return {
    reliable: publishers.every(({ qos_profile }) => qos_profile.reliability !== QOS.bestEffort),
    transientLocal: !ignoreHistory && publishers.every(keepsHistory),
  };
}

/** Whether the publisher sends what it has published to those who subscribe later. */
export function keepsHistory({ qos_profile }: TopicEndpoint): boolean {
  return qos_profile.durability === QOS.transientLocal;
}

/** Whether DDS connects the publisher with a subscription that asks for this. */
export function isHeard(publisher: TopicEndpoint, { reliable, transientLocal }: TopicQos): boolean {
  if (reliable && publisher.qos_profile.reliability === QOS.bestEffort) return false;
  return !transientLocal || keepsHistory(publisher);
}

export function sameQos(one: TopicQos, other: TopicQos): boolean {
  return one.reliable === other.reliable && one.transientLocal === other.transientLocal;
}

/** What ROS calls a publisher's node before it has heard of it. */
const UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_';

/** Full name of the only node among the publishers, or null. */
export function onlyNode(publishers: readonly TopicEndpoint[]): string | null {
  const names = new Set(publishers.map(nodeName));
  const [name = null] = names;
  return names.size === 1 ? name : null;
}

/** Full name of an endpoint's node; null where ROS has not heard of it yet. */
export function nodeName({ node_name, node_namespace }: TopicEndpoint): string | null {
  if (node_name === '' || node_name === UNKNOWN_NODE) return null;
  return `${node_namespace === '/' ? '' : node_namespace}/${node_name}`;
}
