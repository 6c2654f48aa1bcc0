import type { StreamReport, StreamState } from '@drover/shared/link/stream-status';
import { QuarantinedError, type TopicSight, UnknownTypeError } from '../ros/graph.js';

/** What a tap tells of itself. */
export interface TapView {
  /** What is subscribed to: the source, resolved and remapped. */
  readonly topic: string;
  /** Why the topic is not subscribed (again tried soon); null where it is, or nothing was tried yet. */
  readonly failure: Error | null;
  /** Null until subscribed. */
  readonly sight: TopicSight | null;
  /** Messages received since the subscription was last made. */
  readonly received: number;
  /** The first and the newest of them, by the robot's clock; null = none yet. */
  readonly firstWallMs: number | null;
  readonly lastWallMs: number | null;
}

/** Nobody publishes for so long: before, discovery may not have met them, or one is restarted. */
export const NO_PUBLISHER_AFTER_MS = 2_000;
/** The wire's bound. */
const MESSAGE_CHARS_MAX = 1024;

type Verdict = Pick<StreamReport, 'state' | 'message'>;

/**
 * What a stream is doing, in words with their remedy.
 *
 *     disabled                                the stream is off
 *     unknown_type | quarantined | failed     not subscribed; tried again every few seconds
 *     failed                                  subscribed, and ROS refuses to give
 *     type_mismatch                           others publish it, as another type
 *     no_publisher                            nobody publishes it, for NO_PUBLISHER_AFTER_MS
 *     incompatible_qos                        all who publish it offer less than is asked
 *     receiving                               something came since the subscription was made
 *     waiting                                 none of these
 */
export function stateOf(topic: string, type: string, view: TapView | null, aloneMs: number): Verdict {
  if (view === null) return verdict('disabled', 'the stream is disabled');
  if (view.failure) return failureOf(type, view.failure);
  const { sight } = view;
  if (!sight) return verdict('waiting', null);
  if (sight.problem !== null) return verdict('failed', `ROS gives nothing of ${topic}: ${sight.problem}; tried again`);
  const others = sight.otherTypes.join(', ');
  if (sight.publishers === 0) {
    if (others !== '') {
      return verdict(
        'type_mismatch',
        `${topic} is published as ${others}, not as ${type}: delete the stream and create it with that type`,
      );
    }
    if (aloneMs >= NO_PUBLISHER_AFTER_MS) {
      return verdict(
        'no_publisher',
        `nobody on the robot publishes ${topic}: start the node that does, or check the name ` +
          '(ros2 topic list) and that the agent has the same ROS_DOMAIN_ID',
      );
    }
  }
  if (sight.publishers > 0 && sight.unheard === sight.publishers) {
    return verdict(
      'incompatible_qos',
      `those who publish ${topic} offer less than is asked (${words(sight.qos)}); the stream follows them, usually within a second`,
    );
  }
  const alsoAs = others === '' ? null : `${topic} is also published as ${others}, which is not recorded`;
  const inPart =
    sight.unheard === 0
      ? null
      : `${sight.unheard} of ${sight.publishers} publishers can not be heard: their QoS differs`;
  if (view.received > 0) return verdict('receiving', alsoAs ?? inPart);
  const quiet = sight.publishers === 0 ? null : `${counted(sight.publishers)} there; nothing has come yet`;
  return verdict('waiting', alsoAs ?? inPart ?? quiet);
}

function failureOf(type: string, failure: Error): Verdict {
  if (failure instanceof QuarantinedError) return verdict('quarantined', failure.message);
  if (failure instanceof UnknownTypeError) {
    return verdict(
      'unknown_type',
      `the robot has no type ${type}: install its package and start the agent with that sourced, or create the stream with another type`,
    );
  }
  return verdict('failed', `the topic can not be subscribed: ${failure.message}; tried again every few seconds`);
}

function verdict(state: StreamState, message: string | null): Verdict {
  return { state, message: message === null ? null : message.slice(0, MESSAGE_CHARS_MAX) };
}

function words({ reliable, transientLocal }: TopicSight['qos']): string {
  return `${reliable ? 'reliable' : 'best effort'}, ${transientLocal ? 'transient local' : 'volatile'}`;
}

function counted(publishers: number): string {
  return publishers === 1 ? '1 publisher is' : `${publishers} publishers are`;
}
