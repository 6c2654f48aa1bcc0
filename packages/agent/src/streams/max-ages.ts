import type { Desired } from '@drover/shared/link/desired';
import { isLogStream } from '../logs/log-collector.js';

/**
 * How long what is collected may wait for the cloud, milliseconds by source. What a stream on /rosout may does not count
 * while log collection is on: the records are that one's as well.
 */
export function maxAges({ streams, logs }: Pick<Desired, 'streams' | 'logs'>): Map<string, number> {
  const ages = new Map<string, number>();
  for (const stream of streams) {
    if (stream.max_age_s == null || (isLogStream(stream) && logs.enabled)) continue;
    ages.set(stream.source, stream.max_age_s * 1000);
  }
  return ages;
}
