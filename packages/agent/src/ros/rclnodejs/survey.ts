import type { EndpointQos, ServerEndpoint, TopicEndpoint } from '@drover/shared/link/answers';
import type { GraphSurvey } from '../graph.js';
import { isHidden } from '../hidden.js';
import type { AnnouncedEndpoint, NamesAndTypes, RclDuration } from './api.js';
import type { Connection } from './connection.js';
import { nodeName } from './topic-qos.js';

/**
 * The graph as rcl knows it from discovery: looking costs no traffic, and makes nothing. Between two looks anything may
 * come or go; a node that has gone meanwhile is left out.
 */
export function surveyOf(connection: Connection): GraphSurvey {
  const { node, rcl } = connection;
  const nodes = node.getNodeNamesAndNamespaces().map(({ name, namespace }) => fullName(namespace, name));
  return {
    nodes: visible(nodes),
    topics: sorted(node.getTopicNamesAndTypes()).map(({ name, types }) => ({
      name,
      types,
      ...endpointsOf(connection, name),
    })),
    services: withServers(node.getServiceNamesAndTypes(), serversByName(connection, 'service')),
    actions: withServers(rcl.getActionNamesAndTypes(node), serversByName(connection, 'action')),
  };
}

export function endpointsOf(
  { node }: Connection,
  topic: string,
): { publishers: TopicEndpoint[]; subscribers: TopicEndpoint[] } {
  return {
    publishers: node.getPublishersInfoByTopic(topic).map(endpoint),
    subscribers: node.getSubscriptionsInfoByTopic(topic).map(endpoint),
  };
}

/** Asked node by node: the list of all services has clients in it too, and their types among the servers'. */
export function serversOf(connection: Connection, kind: 'service' | 'action', name: string): ServerEndpoint[] {
  return serversByName(connection, kind).get(name) ?? [];
}

function serversByName({ node, rcl }: Connection, kind: 'service' | 'action'): Map<string, ServerEndpoint[]> {
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

function withServers(all: readonly NamesAndTypes[], servers: ReadonlyMap<string, ServerEndpoint[]>) {
  return sorted(all).map(({ name, types }) => ({ name, types, servers: servers.get(name) ?? [] }));
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
