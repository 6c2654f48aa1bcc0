import type { EndpointQos, TopicEndpoint } from '@drover/shared/link/answers';
import { isAgentNode } from '../ros/agent-nodes.js';
import { otherTypesWords } from '../ros/graph.js';

export interface PublishedTopic {
  readonly name: string;
  readonly type: string;
  readonly latched: boolean;
}

export interface TopicEnds {
  readonly publishers: readonly TopicEndpoint[];
  readonly subscribers: readonly TopicEndpoint[];
}

/** The subscriptions that would receive a command; the agent's own streams don't count, nobody acts on those. */
export function listenersOf(topic: PublishedTopic, { subscribers }: TopicEnds): TopicEndpoint[] {
  return subscribers.filter(
    (end) => end.type === topic.type && misfit(end.qos, topic.latched) === null && !isAgentNode(end.node ?? ''),
  );
}

/** Why nobody would receive it: what is there instead, as more of a sentence; "" where nothing is. */
export function whyNobody(topic: PublishedTopic, { publishers, subscribers }: TopicEnds): string {
  const others = [...publishers, ...subscribers].filter(({ type }) => type !== topic.type);
  const asking = new Set(
    subscribers.flatMap(({ type, node, qos }) => {
      const wish = type === topic.type && !isAgentNode(node ?? '') ? misfit(qos, topic.latched) : null;
      return wish === null ? [] : [`; ${node ?? 'a node'} asks for ${wish}`];
    }),
  );
  return `${otherTypesWords(others)}${[...asking].slice(0, 3).join('')}`;
}

/** What a subscription asks for that the publisher of a command does not offer: DDS then connects the two not at all. */
function misfit(asked: EndpointQos, latched: boolean): string | null {
  if (asked.durability === 'transient_local' && !latched) return 'transient local messages: send it with latched';
  if (asked.deadline_s !== null) return `a message every ${asked.deadline_s} s, which commands do not promise`;
  const lease = asked.liveliness_lease_s !== null || asked.liveliness === 'manual_by_topic';
  return lease ? 'signs of life that commands do not give' : null;
}
