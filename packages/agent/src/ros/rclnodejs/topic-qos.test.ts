import { describe, expect, it } from 'vitest';
import { QOS, type TopicEndpoint } from './api.js';
import { onlyNode, qosFollowing } from './topic-qos.js';

const publisher = (overrides: { node?: string; namespace?: string; bestEffort?: boolean; latched?: boolean } = {}) =>
  ({
    node_name: overrides.node ?? 'node',
    node_namespace: overrides.namespace ?? '/',
    topic_type: 'std_msgs/msg/Int64',
    endpoint_gid: [],
    qos_profile: {
      reliability: overrides.bestEffort ? QOS.bestEffort : QOS.reliable,
      durability: overrides.latched ? QOS.transientLocal : QOS.volatile,
    },
  }) satisfies TopicEndpoint;

describe('the QoS of a subscription', () => {
  it.each([
    ['reliable, volatile publishers', [publisher(), publisher()], { reliable: true, transientLocal: false }],
    ['a best-effort one among them', [publisher(), publisher({ bestEffort: true })], { reliable: false }],
    ['latched publishers', [publisher({ latched: true })], { reliable: true, transientLocal: true }],
    ['a volatile one among latched ones', [publisher({ latched: true }), publisher()], { transientLocal: false }],
  ])('hears all of %s', (_, publishers, qos) => {
    expect(qosFollowing(publishers, false)).toMatchObject(qos);
  });

  it('is volatile where the history is not wanted', () => {
    expect(qosFollowing([publisher({ latched: true })], true)).toEqual({ reliable: true, transientLocal: false });
  });

  it('is open without publishers', () => {
    expect(qosFollowing([], false)).toBeUndefined();
  });
});

describe('the publishing node', () => {
  it.each([
    ['nobody', [], null],
    ['one node', [publisher({ node: 'camera' })], '/camera'],
    ['one node in a namespace', [publisher({ node: 'camera', namespace: '/front' })], '/front/camera'],
    ['one node with two publishers', [publisher(), publisher()], '/node'],
    ['two nodes', [publisher({ node: 'a' }), publisher({ node: 'b' })], null],
    ['a node that is not discovered yet', [publisher({ node: '_NODE_NAME_UNKNOWN_' })], null],
  ])('of %s', (_, publishers, name) => {
    expect(onlyNode(publishers)).toBe(name);
  });
});
