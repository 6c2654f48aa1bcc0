import type { RosNode } from './ros-node.js';

/** A topic that fills what there is to fill. */
export interface LoadTopic {
  readonly topic: string;
  readonly hz: number;
  /** Of the message's text. */
  readonly bytes: number;
  /** Keeps its pace though the process is blocked for a while: what it missed it publishes then. Else that is skipped. */
  readonly isSteady: boolean;
}

/** Reads `/name:hz:bytes` or `/name:hz:bytes:steady`, several with commas between. @throws RangeError where it is not that */
export function readLoad(text: string): LoadTopic[] {
  return text.split(',').map((one) => {
    const [topic = '', hz, bytes, steady] = one.split(':');
    const load = { topic, hz: Number(hz), bytes: Number(bytes), isSteady: steady === 'steady' };
    if (!(load.hz > 0) || !(load.bytes >= 16) || (steady !== undefined && !load.isSteady))
      throw new RangeError(`a load is /name:hz:bytes (16 or more), :steady behind it or not, not ${one}`);
    return load;
  });
}

/**
 * Publishes std_msgs/msg/String, each a number one above the one before, from 1 on, and spaces behind it up to `bytes`. Counts heard or not, so
 * that a gap in what was collected shows as a gap in the numbers.
 */
export async function startLoad(node: RosNode, topics: readonly LoadTopic[]): Promise<void> {
  for (const { topic, hz, bytes, isSteady } of topics) {
    const publisher = await node.publisher(topic, 'std_msgs/msg/String');
    let [count, passedMs] = [0, 0];
    node.every(1000 / hz, (elapsedMs) => {
      passedMs += elapsedMs;
      // A tick comes a fraction early or late.
      const due = isSteady ? Math.round((passedMs * hz) / 1000) : count + 1;
      while (count < due) {
        count += 1;
        if (publisher.isHeard) publisher.publish({ data: String(count).padEnd(bytes) });
      }
    });
  }
}
