import { expect, it } from 'vitest';
import { QuarantinedError, RosError, type TopicSight, UnknownTypeError } from '../ros/graph.js';
import { NO_PUBLISHER_AFTER_MS, stateOf, type TapView } from './stream-state.js';

const INT64 = 'std_msgs/msg/Int64';
const sight = (overrides: Partial<TopicSight> = {}): TopicSight => ({
  publishers: 1,
  unheard: 0,
  otherTypes: [],
  qos: { reliable: true, transientLocal: false },
  problem: null,
  ...overrides,
});
const view = (overrides: Partial<TapView> = {}): TapView => ({
  topic: '/t',
  failure: null,
  sight: sight(),
  received: 0,
  firstWallMs: null,
  lastWallMs: null,
  ...overrides,
});
const quarantined = new QuarantinedError({ kind: 'subscription', name: '/t', type: INT64 }, 0, 3, 'SIGABRT');

it.each<[string, TapView | null, number, string, RegExp | null]>([
  ['its stream is off', null, 0, 'disabled', /disabled/],
  ['it is being subscribed', view({ sight: null }), 0, 'waiting', null],
  [
    'the type is not there',
    view({ failure: new UnknownTypeError(INT64) }),
    0,
    'unknown_type',
    /no type std_msgs.*install/,
  ],
  ['ROS refuses', view({ failure: new RosError('out of memory') }), 0, 'failed', /out of memory; tried again/],
  ['it ended the process too often', view({ failure: quarantined }), 0, 'quarantined', /quarantined since .*disable/],
  ['ROS gives nothing', view({ sight: sight({ problem: 'rcl_wait() failed' }) }), 0, 'failed', /rcl_wait\(\) failed/],
  ['nobody publishes yet', view({ sight: sight({ publishers: 0 }) }), NO_PUBLISHER_AFTER_MS - 1, 'waiting', null],
  [
    'nobody publishes',
    view({ sight: sight({ publishers: 0 }) }),
    NO_PUBLISHER_AFTER_MS,
    'no_publisher',
    /nobody .* \/t: start/,
  ],
  [
    'another type is published',
    view({ sight: sight({ publishers: 0, otherTypes: ['a_msgs/msg/A', 'b_msgs/msg/B'] }) }),
    0,
    'type_mismatch',
    /\/t is published as a_msgs\/msg\/A, b_msgs\/msg\/B, not as std_msgs\/msg\/Int64: delete/,
  ],
  ['no publisher can be heard', view({ sight: sight({ unheard: 1 }) }), 0, 'incompatible_qos', /reliable, volatile/],
  ['nothing was published', view(), 0, 'waiting', /1 publisher is there/],
  ['messages came', view({ received: 3 }), 0, 'receiving', null],
  [
    'messages came of a restarting publisher',
    view({ received: 3, sight: sight({ publishers: 0 }) }),
    0,
    'receiving',
    null,
  ],
  [
    'messages come of one publisher of two',
    view({ received: 3, sight: sight({ publishers: 2, unheard: 1 }) }),
    0,
    'receiving',
    /1 of 2 publishers can not be heard/,
  ],
  [
    'messages come, others are of another type',
    view({ received: 3, sight: sight({ otherTypes: ['a_msgs/msg/A'] }) }),
    0,
    'receiving',
    /also published as a_msgs\/msg\/A/,
  ],
])('where %s, says so', (_, tap, aloneMs, state, message) => {
  const told = stateOf('/t', INT64, tap, aloneMs);
  expect(told.state).toBe(state);
  if (message === null) expect(told.message).toBeNull();
  else expect(told.message).toMatch(message);
});

it('keeps its words within what the wire takes', () => {
  const otherTypes = Array.from({ length: 100 }, (_, n) => `package_${n}/msg/AnOverlyLongName`);
  const told = stateOf('/t', INT64, view({ sight: sight({ publishers: 0, otherTypes }) }), 0);
  expect(told.message).toHaveLength(1024);
});
