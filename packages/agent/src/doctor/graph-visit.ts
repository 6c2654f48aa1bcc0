import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { TopicInfo } from '../ros/graph.js';
import { createRclnodejsGraph } from '../ros/rclnodejs/graph.js';
import { RclnodejsUnavailableError } from '../ros/rclnodejs/load.js';

/**
 * Others are discovered within a second or so, or where the first announcements were missed by the next, 3 s later. A
 * graph that has stopped growing is taken as it is.
 */
const LOOK_MAX_MS = 6_000;
const STILL_MS = 700;
const POLL_MS = 100;
/** Every node has these, our own as well: they say nothing of the robot. */
const EVERY_NODES: readonly string[] = ['/parameter_events', '/rosout'];

/** What a visit to the ROS graph found, as it crosses from its process to doctor's. */
export const visitSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('seen'), topics: z.number().int().nonnegative() }),
  z.object({ kind: z.literal('unavailable'), message: z.string() }),
  z.object({ kind: z.literal('failed'), message: z.string() }),
]);
export type Visit = z.infer<typeof visitSchema>;

/** Joins the ROS graph for some seconds and counts the topics that somebody publishes. Never rejects. */
export async function visitGraph(env: NodeJS.ProcessEnv, now: () => number): Promise<Visit> {
  const graph = createRclnodejsGraph({ env, log: { warn() {} } });
  try {
    await graph.start();
    const endMs = now() + LOOK_MAX_MS;
    let topics = 0;
    let changedMs = now();
    while (now() < endMs && !(topics > 0 && now() - changedMs >= STILL_MS)) {
      await sleep(POLL_MS);
      const seen = countTopics(await graph.topics());
      if (seen !== topics) changedMs = now();
      topics = seen;
    }
    return { kind: 'seen', topics };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: error instanceof RclnodejsUnavailableError ? 'unavailable' : 'failed', message };
  } finally {
    // Says goodbye: the others need not wait for a lease to find that we are gone.
    await graph.stop();
  }
}

function countTopics(topics: readonly TopicInfo[]): number {
  return topics.filter(({ name, publisherCount }) => publisherCount > 0 && !EVERY_NODES.includes(name)).length;
}
