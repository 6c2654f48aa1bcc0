import { expect, it } from 'vitest';
import { stream } from './fixture.js';
import { maxAges } from './max-ages.js';

const rosout = stream({ source: '/rosout', type: 'rcl_interfaces/msg/Log', max_age_s: 5 });

it('holds for the streams that state one, on /rosout only where log collection does not want the records', () => {
  const streams = [
    stream({ max_age_s: 0.5 }),
    stream({ source: '/b', max_age_s: null }),
    stream({ source: '/c' }),
    rosout,
  ];
  const counter = ['/counter', 500];
  expect([...maxAges({ streams, logs: { enabled: true, min_level: 'info' } })]).toEqual([counter]);
  expect([...maxAges({ streams, logs: { enabled: false, min_level: 'info' } })]).toEqual([counter, ['/rosout', 5000]]);
});
