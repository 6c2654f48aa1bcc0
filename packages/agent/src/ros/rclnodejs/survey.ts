import type { EndpointQos, ServerEndpoint, TopicEndpoint } from '@drover/shared/link/answers';
import type { GraphSurvey } from '../graph.js';
import { isHidden } from '../hidden.js';
import type { AnnouncedEndpoint, NamesAndTypes, RclDuration } from './api.js';
import type { Connection } from './connection.js';
import { nodeName } from './topic-qos.js';

type ServerKind = 'service' | 'action';

/**
 * The graph as rcl knows it from discovery: looking costs no traffic, and makes nothing. Between two looks anything may
 * come or go; a node that has gone meanwhile is left out.
 */
export function surveyOf(connection: Connection): GraphSurvey {
  const { node } = connection;
  const nodes = node.getNodeNamesAndNamespaces().map(({ name, namespace }) => fullName(namespace, name));
  return {
    nodes: visible(nodes),
    topics: sorted(node.getTopicNamesAndTypes()).map(({ name, types }) => ({
      name,
      types,
      ...endpointsOf(connection, name),
    })),
    services: withServers(connection, 'service'),
    actions: withServers(connection, 'action'),
  };
}

export function endpointsOf(
  { node }: Connection,
  topic: string,
): { publishers: TopicEndpoint[]; subscribers: TopicEndpoint[] } {
  return {
    publishers: endpoints(node.getPublishersInfoByTopic(topic)),
    subscribers: endpoints(node.getSubscriptionsInfoByTopic(topic)),
  };
}

/** What serves one name, hidden or not. */
export function serversOf(connection: Connection, kind: ServerKind, name: string): ServerEndpoint[] {
  const known = serversByName(connection, kind).get(name);
  if (known) return known;
  const listed = namesAndTypes(connection, kind).find((entry) => entry.name === name);
  return listed ? unnamedServers(connection, kind, listed) : [];
}

/** Asked node by node: the list of all services has clients in it too, and their types among the servers'. */

function serversByName({ node, rcl }: Connection, kind: ServerKind): Map<string, ServerEndpoint[]> {
  const servers = new Map<string, ServerEndpoint[]>();
  const seen = new Set<string>();
  for (const { name: own, namespace } of node.getNodeNamesAndNamespaces()) {
    const full = fullName(namespace, own);
    // Two nodes of one name can't be told apart: each look gives what both have.
    if (seen.has(full)) continue;
    seen.add(full);
    let served: readonly NamesAndTypes[];
    try {
      served =
        kind === 'service'
          ? node.getServiceNamesAndTypesByNode(own, namespace)
          : rcl.getActionServerNamesAndTypesByNode(node, own, namespace);
    } catch {
      continue;
    }
    for (const { name, types } of served) {
      const known = servers.get(name) ?? [];
      servers.set(name, [...known, ...types.map((type) => ({ node: full, type }))]);
    }
  }
  return servers;
}

/** A server whose node has not been heard of yet; its type is known where clients are of no other. */
function unnamedServers({ node }: Connection, kind: ServerKind, { name, types }: NamesAndTypes): ServerEndpoint[] {
  const [type] = types;
  const service = kind === 'service' ? name : `${name}/_action/send_goal`;
  return type !== undefined && types.length === 1 && node.countServices(service) > 0 ? [{ node: null, type }] : [];
}

function withServers(connection: Connection, kind: ServerKind) {
  const servers = serversByName(connection, kind);
  return sorted(namesAndTypes(connection, kind)).map((listed) => ({
    ...listed,
    servers: servers.get(listed.name) ?? unnamedServers(connection, kind, listed),
  }));
}

function namesAndTypes({ node, rcl }: Connection, kind: ServerKind): readonly NamesAndTypes[] {
  return kind === 'service' ? node.getServiceNamesAndTypes() : rcl.getActionNamesAndTypes(node);
}

function sorted(all: readonly NamesAndTypes[]): { name: string; types: string[] }[] {
  return all
    .filter(({ name }) => !isHidden(name))
    .map(({ name, types }) => ({ name, types: [...types].sort() }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function visible(names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => !isHidden(name)).sort();
}

function fullName(namespace: string, name: string): string {
  return `${namespace === '/' ? '' : namespace}/${name}`;
}

/** By node: ROS gives them in an order of its own that changes. */
function endpoints(infos: readonly AnnouncedEndpoint[]): TopicEndpoint[] {
  return infos.map(endpoint).sort((one, other) => ((one.node ?? '') < (other.node ?? '') ? -1 : 1));
}

function endpoint(info: AnnouncedEndpoint): TopicEndpoint {
  return { node: nodeName(info), type: info.topic_type, qos: qosOf(info.qos_profile) };
}

// rmw's numbers. The others ("system default", "best available", "unknown") say nothing of an endpoint that is there.
const RELIABILITY = new Map([
  [1, 'reliable'],
  [2, 'best_effort'],
] as const);
const DURABILITY = new Map([
  [1, 'transient_local'],
  [2, 'volatile'],
] as const);
const HISTORY = new Map([
  [1, 'keep_last'],
  [2, 'keep_all'],
] as const);
const LIVELINESS = new Map([
  [1, 'automatic'],
  [3, 'manual_by_topic'],
] as const);

function qosOf(qos: AnnouncedEndpoint['qos_profile']): EndpointQos {
  const history = named(HISTORY, qos.history);
  return {
    reliability: named(RELIABILITY, qos.reliability),
    durability: named(DURABILITY, qos.durability),
    history,
    // DDS has no need to tell others, and Fast DDS doesn't.
    depth: history === 'keep_last' ? qos.depth : null,
    deadline_s: seconds(qos.deadline),
    lifespan_s: seconds(qos.lifespan),
    liveliness: named(LIVELINESS, qos.liveliness),
    liveliness_lease_s: seconds(qos.liveliness_lease_duration),
  };
}

function named<V extends string>(names: ReadonlyMap<number, V>, value: number): V | 'unknown' {
  return names.get(value) ?? 'unknown';
}

/** What rmw takes for infinite (RMW_DURATION_INFINITE), in whole seconds; one middleware rounds it to less. */
const INFINITE_S = 2_147_483_647;

function seconds({ seconds: whole, nanoseconds }: RclDuration): number | null {
  const value = Number(whole) + Number(nanoseconds) / 1e9;
  return value >= INFINITE_S ? null : value;
}
