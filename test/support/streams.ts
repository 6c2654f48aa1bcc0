import type { StreamStatus } from '@drover/shared/api/streams';
import type { TestCloud } from './cloud.js';

const path = (source: string) => `/robots/rover-1/streams/${encodeURIComponent(source)}`;

export function statusPath(source: string, what: 'status' | 'options'): string {
  return `${path(source)}/${what}`;
}

export async function addStream(cloud: TestCloud, source: string, type: string, hz: number): Promise<void> {
  const answer = await cloud.call('POST', '/robots/rover-1/streams', { source, type, hz });
  if (answer.status !== 201) throw new Error(`stream not created: ${JSON.stringify(answer.body)}`);
}

/** The status of a stream of rover-1, once it satisfies. */
export function untilStatus(
  cloud: TestCloud,
  source: string,
  satisfied: (status: StreamStatus) => boolean,
  withinMs = 20_000,
): Promise<StreamStatus> {
  return cloud.until<StreamStatus>(statusPath(source, 'status'), satisfied, withinMs);
}
