import { toJson } from '@drover/shared/ros/to-json';
import type { RosGraph } from '../ros/graph.js';
import { type TopicEnds, whyNobody } from './listeners.js';
import { type Ending, executed, failed } from './outcome.js';
import type { Prepared } from './prepare.js';

/** How long a service or an action server is waited for. */
export const READY_TIMEOUT_MS = 5_000;
/** How long the first message of a publisher waits for a subscriber; longer where the agent itself has just come up. */
export const MATCH_TIMEOUT_MS = 1_000;
const JOINING_TIMEOUT_MS = 5_000;

const NO_ENDS: TopicEnds = { publishers: [], subscribers: [] };

/** Publishes; ends as executed whoever listens, and says when nobody did. */
export async function publish(
  graph: RosGraph,
  topic: Extract<Prepared, { kind: 'topic' }>,
  options: { type: string; latched: boolean; timeoutMs: number },
): Promise<Ending> {
  const timeout = new AbortController();
  // Less than the command has, so that one nobody subscribes to ends as published and not as late.
  const matchTimeoutMs = Math.min(MATCH_TIMEOUT_MS, options.timeoutMs / 2);
  const publishing = graph.publish({
    topic: topic.name,
    type: options.type,
    cdr: topic.cdr,
    latched: options.latched,
    matchTimeoutMs,
    joiningTimeoutMs: Math.min(JOINING_TIMEOUT_MS, options.timeoutMs / 2),
    signal: timeout.signal,
  });
  const sent = await within(publishing, options.timeoutMs);
  if (sent === TIMED_OUT) {
    timeout.abort();
    return timedOut('it was not published', options.timeoutMs);
  }
  const { matchedSubscribers } = sent;
  if (matchedSubscribers > 0) return executed({ matched_subscribers: matchedSubscribers });
  const nobody = `no subscriber at ${topic.name} within ${matchTimeoutMs / 1000} s: nobody received it`;
  const ends = await graph.endpointsOf(topic.name).catch(() => NO_ENDS);
  return executed({ matched_subscribers: 0 }, nobody + whyNobody({ ...options, name: topic.name }, ends));
}

/** Calls a service once. */
export async function call(
  graph: RosGraph,
  service: Extract<Prepared, { kind: 'service' }>,
  timeoutMs: number,
): Promise<Ending> {
  const timeout = new AbortController();
  const calling = graph.call({
    service: service.name,
    type: service.type.type,
    request: service.request,
    readyTimeoutMs: Math.min(READY_TIMEOUT_MS, timeoutMs),
    timeoutMs,
    signal: timeout.signal,
  });
  // Waiting for the server and for its answer together must not take longer than the command may.
  const response = await within(calling, timeoutMs);
  if (response === TIMED_OUT) {
    timeout.abort();
    return timedOut('the server may have acted', timeoutMs);
  }
  return executed(toJson(service.type.response, response));
}

export const TIMED_OUT = Symbol('timed out');

/** What `work` resolves to, or TIMED_OUT; the work itself goes on, and nobody is bothered by how it ends. */
export async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T | typeof TIMED_OUT> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof TIMED_OUT>((resolve) => {
    // Longer than a timer can be (24.8 days) is as good as for ever here: the process restarts before.
    timer = setTimeout(() => resolve(TIMED_OUT), Math.min(timeoutMs, 2 ** 31 - 1));
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function timedOut(effect: string, timeoutMs: number): Ending {
  return failed('timeout', `not done within ${timeoutMs / 1000} s; ${effect}`);
}
