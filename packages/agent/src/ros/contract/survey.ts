import { fromJson } from '@drover/shared/ros/from-json';
import type { RosMessage } from '@drover/shared/ros/values';
import { describe, expect, it } from 'vitest';
import { GraphStoppedError } from '../graph.js';
import { type Bench, FIBONACCI, INT64, SET_BOOL } from './bench.js';

async function emptyGoal(bench: Bench, type: string): Promise<RosMessage> {
  const definition = await bench.graph.describe(type);
  if (definition.kind !== 'action') throw new TypeError(`${type} is no action`);
  return fromJson(definition.goal, {}, 'goal');
}

const WITHIN = { timeout: 10_000, interval: 50 };

/** What can be seen of others on the graph, without a trace of the looking. */
export function surveyContract(bench: Bench): void {
  describe('survey', () => {
    it('lists nodes, and topics with each end’s node, type and QoS', async () => {
      const topic = bench.fresh('surveyed');
      await bench.peer.advertise({ topic, type: INT64, reliability: 'best_effort' });
      await bench.peer.subscribe({ topic, type: INT64, durability: 'transient_local' });
      const seen = async () => {
        const { topics, nodes } = await bench.graph.survey();
        return { nodes, topic: topics.find(({ name }) => name === topic) };
      };
      // ROS tells of nodes a moment after it tells of their ends.
      const nodesOfEnds = async () => {
        const { topic: ends } = await seen();
        return [...(ends?.publishers ?? []), ...(ends?.subscribers ?? [])].map(({ node }) => node);
      };
      await expect.poll(nodesOfEnds, WITHIN).toEqual([bench.peer.nodeName, bench.peer.nodeName]);
      const qos = { deadline_s: null, lifespan_s: null, liveliness: 'automatic', liveliness_lease_s: null };
      const { nodes, topic: found } = await seen();
      expect(nodes).toEqual(expect.arrayContaining([bench.peer.nodeName, '/drover_agent']));
      expect(found).toMatchObject({
        name: topic,
        types: [INT64],
        publishers: [
          {
            node: bench.peer.nodeName,
            type: INT64,
            qos: { ...qos, reliability: 'best_effort', durability: 'volatile' },
          },
        ],
        subscribers: [
          {
            node: bench.peer.nodeName,
            type: INT64,
            qos: { ...qos, reliability: 'reliable', durability: 'transient_local' },
          },
        ],
      });
      expect(await bench.graph.endpointsOf(topic)).toEqual({
        publishers: found?.publishers,
        subscribers: found?.subscribers,
      });
    });

    it('lists services and actions with their types and servers, and nothing of what actions hide', async () => {
      const [service, action] = [bench.fresh('surveyed_service'), bench.fresh('surveyed_action')];
      await bench.peer.serveSetBool(service);
      await bench.peer.serveFibonacci(action);
      const node = bench.peer.nodeName;
      const of = (list: readonly { name: string }[], name: string) => list.find((entry) => entry.name === name);
      await expect
        .poll(async () => of((await bench.graph.survey()).actions, action), WITHIN)
        .toEqual({ name: action, types: [FIBONACCI], servers: [{ node, type: FIBONACCI }] });
      await expect
        .poll(async () => of((await bench.graph.survey()).services, service), WITHIN)
        .toEqual({ name: service, types: [SET_BOOL], servers: [{ node, type: SET_BOOL }] });
      const { services, actions, topics } = await bench.graph.survey();
      expect([...services, ...actions, ...topics].filter(({ name }) => name.includes('/_'))).toEqual([]);
      expect(await bench.graph.serversOf('action', action)).toEqual([{ node, type: FIBONACCI }]);
      expect(await bench.graph.serversOf('service', action)).toEqual([]);
    });

    it('finds nothing where nothing is, and leaves nothing there', async () => {
      const name = bench.fresh('nothing');
      expect(await bench.graph.serversOf('service', name)).toEqual([]);
      expect(await bench.graph.serversOf('action', name)).toEqual([]);
      expect(await bench.graph.endpointsOf(name)).toEqual({ publishers: [], subscribers: [] });
      const { topics, services, actions } = await bench.graph.survey();
      expect([...topics, ...services, ...actions].filter((entry) => entry.name === name)).toEqual([]);
    });
  });

  describe('a server of another type', () => {
    const waits = { readyTimeoutMs: 2000, timeoutMs: 2000 };

    it('is named where a service is not ready', async () => {
      const service = bench.fresh('other_service');
      await bench.peer.serveSetBool(service);
      const served = [{ node: bench.peer.nodeName, type: SET_BOOL }];
      await expect.poll(() => bench.graph.serversOf('service', service), WITHIN).toEqual(served);
      await expect(
        bench.graph.call({ service, type: 'std_srvs/srv/Trigger', request: {}, ...waits }),
      ).rejects.toMatchObject({
        name: 'NotReadyError',
        message: expect.stringContaining(`there is one of type ${SET_BOOL}`),
      });
    });

    it('is named where an action is not ready', async () => {
      const action = bench.fresh('other_action');
      await bench.peer.serveFibonacci(action);
      const served = [{ node: bench.peer.nodeName, type: FIBONACCI }];
      await expect.poll(() => bench.graph.serversOf('action', action), WITHIN).toEqual(served);
      const goal = {
        action,
        type: 'test_msgs/action/NestedMessage',
        goalId: new Uint8Array(16).fill(7),
        goal: await emptyGoal(bench, 'test_msgs/action/NestedMessage'),
        readyTimeoutMs: 2000,
        acceptTimeoutMs: 2000,
        onFeedback: () => {},
      };
      await expect(bench.graph.sendGoal(goal)).rejects.toMatchObject({
        name: 'NotReadyError',
        message: expect.stringContaining(`there is one of type ${FIBONACCI}`),
      });
    });
  });

  describe('after the stop', () => {
    it('nothing can be seen', async () => {
      const { graph, close } = await bench.makeFixture();
      await graph.stop();
      for (const looking of [graph.survey(), graph.endpointsOf('/x'), graph.serversOf('service', '/x')]) {
        await expect(looking).rejects.toBeInstanceOf(GraphStoppedError);
      }
      await close();
    });
  });
}
