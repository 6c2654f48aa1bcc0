import type { RosNode } from './ros-node.js';

/** A topic that fills what there is to fill. */
export interface LoadTopic {
  readonly topic: string;
  readonly hz: number;
  /** Of the message's text. */
  readonly bytes: number;
}

/** Reads `/name:hz:bytes`, several with commas between. @throws RangeError where it is not that */
export function readLoad(text: string): LoadTopic[] {
  return text.split(',').map((one) => {
    const [topic = '', hz, bytes] = one.split(':');
    const load = { topic, hz: Number(hz), bytes: Number(bytes) };
    if (!(load.hz > 0) || !(load.bytes >= 16))
      throw new RangeError(`a load is /name:hz:bytes (16 or more), not ${one}`);
    return load;
  });
}

/**
 * Publishes std_msgs/msg/String, each a number one above the one before, from 1 on, and spaces behind it up to `bytes`. Counts heard or not, so
 * that a gap in what was collected shows as a gap in the numbers.
 */
export async function startLoad(node: RosNode, topics: readonly LoadTopic[]): Promise<void> {
  for (const { topic, hz, bytes } of topics) {
    const publisher = await node.publisher(topic, 'std_msgs/msg/String');
    let count = 0;
    node.every(1000 / hz, () => {
      count += 1;
      if (publisher.isHeard) publisher.publish({ data: String(count).padEnd(bytes) });
    });
  }
}
