/**
 * Walks every documented endpoint and holds each answer against the spec's tables (interface specification, parts 2 and
 * 4): the keys exactly, each value of its kind. Written from the document, not from our schemas, so that both can't be wrong alike.
 */

import type { Robot } from '@drover/shared/api/robots';
import type { Stream } from '@drover/shared/api/streams';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RobotRef } from '../robots/robots.js';
import { batchOfPoints } from '../testing/batches.js';
import { startTestCloud, type TestAnswer, type TestCloud } from '../testing/cloud.js';

type Kind = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'uuid' | 'timestamp' | 'string?' | 'value?';
type Table = Readonly<Record<string, Kind>>;

// Part 2 of the spec, table by table.
const COMMAND: Table = {
  uuid: 'uuid',
  robot_id: 'string',
  state: 'string',
  error_code: 'string?',
  interface: 'string',
  name: 'string',
  type: 'string',
  payload: 'object',
  created_at: 'timestamp',
};
const ROBOT: Table = {
  id: 'string',
  name: 'string',
  provisioned: 'boolean',
  token_hint: 'string',
  agent_version: 'string',
  online: 'boolean',
  online_updated_at: 'timestamp',
  created_at: 'timestamp',
  vitals: 'object',
};
const ROBOT_VITALS: Table = { cpu: 'number', battery: 'number', ram: 'number', disk: 'number' };
const CREATED_ROBOT: Table = { robot_id: 'string', tenant_uuid: 'uuid', token: 'string' };
const VITAL: Table = {
  uuid: 'uuid',
  created_at: 'timestamp',
  battery: 'number',
  cpu: 'number',
  ram: 'number',
  disk: 'number',
};
const STREAM: Table = {
  uuid: 'uuid',
  source: 'string',
  source_encoded: 'string',
  type: 'string',
  hz: 'number',
  enabled: 'boolean',
  first_recording: 'value?',
  last_recording: 'value?',
  num_recordings: 'integer',
  created_at: 'timestamp',
};
const DATA_POINT: Table = {
  uuid: 'uuid',
  stamp: 'timestamp',
  level: 'string',
  name: 'string',
  file: 'string',
  function: 'string',
  line: 'integer',
  msg: 'string',
};
const LOG_CONFIG: Table = {
  enabled: 'boolean',
  first_recording: 'value?',
  last_recording: 'value?',
  num_recordings: 'integer',
};
const COMPOSE_FILE: Table = { id: 'string', name: 'string', content: 'object', created_at: 'timestamp' };
const ROBOT_COMPOSE_FILE: Table = {
  id: 'string',
  name: 'string',
  state: 'string',
  error_code: 'string?',
  content: 'object',
  created_at: 'timestamp',
};
const MESSAGE: Table = { message: 'string' };
const { robot_id: _absent, ...ROBOT_COMMAND } = COMMAND;

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const KINDS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  uuid: (value) => typeof value === 'string' && UUID.test(value),
  timestamp: (value) => typeof value === 'string' && TIMESTAMP.test(value),
  'string?': (value) => value === null || typeof value === 'string',
  'value?': (value) => value !== undefined,
};

/** What is wrong with a value by a table: missing keys, extra keys, values of another kind. */
function faults(value: unknown, table: Table): string[] {
  if (!KINDS.object(value)) return [`not an object: ${JSON.stringify(value)}`];
  const object = value as Record<string, unknown>;
  return [
    ...Object.keys(table)
      .filter((key) => !(key in object))
      .map((key) => `missing key ${key}`),
    ...Object.keys(object)
      .filter((key) => !(key in table))
      .map((key) => `extra key ${key}`),
    ...Object.entries(table)
      .filter(([key, kind]) => key in object && !KINDS[kind](object[key]))
      .map(([key, kind]) => `${key} is no ${kind}: ${JSON.stringify(object[key])}`),
  ];
}

function expectOne(answer: TestAnswer<unknown>, status: number, table: Table): void {
  expect({ status: answer.status, faults: faults(answer.body, table) }).toEqual({ status, faults: [] });
}

function expectList({ status, body }: TestAnswer<unknown>, table: Table): void {
  expect(status).toBe(200);
  const entries = Array.isArray(body) ? body : [];
  expect(entries.length).toBeGreaterThan(0);
  for (const entry of entries) expect(faults(entry, table)).toEqual([]);
}

describe('every documented endpoint answers as documented', () => {
  let cloud: TestCloud;
  let robot: RobotRef;
  let commandUuid: string;
  beforeAll(async () => {
    cloud = await startTestCloud();
    robot = (await cloud.robot('rover-1')).ref;
    const log = {
      source: '/rosout',
      type: 'rcl_interfaces/msg/Log',
      payload: { level: 30, name: 'n', msg: 'm', file: 'f', function: 'g', line: 3 },
      stampMs: cloud.clock.nowMs,
    };
    const odometry = { source: '/odom', type: 'nav_msgs/msg/Odometry', payload: {}, stampMs: cloud.clock.nowMs };
    const batch = await batchOfPoints([log, odometry]);
    const vital = { kind: 'vital', robot_stamp_ms: cloud.clock.nowMs, cpu: 1.5, ram: 2, disk: 3, battery: -1 } as const;
    await cloud.services.writer.write(robot, { ...batch, rows: [...batch.rows, vital] }, cloud.clock.nowMs);
  });
  afterAll(() => cloud.stop());

  it('notices a missing key, an extra key and a value of another kind', () => {
    expect(faults({ message: 'x' }, MESSAGE)).toEqual([]);
    expect(faults({}, MESSAGE)).toEqual(['missing key message']);
    expect(faults({ message: 'x', more: 1 }, MESSAGE)).toEqual(['extra key more']);
    expect(faults({ message: 1 }, MESSAGE)).toEqual(['message is no string: 1']);
  });

  const walked: string[] = [];
  /** The route as the spec writes it. */
  const walk = (route: string, check: () => Promise<void>) =>
    it(route, async () => {
      walked.push(route);
      await check();
    });

  // 4.1
  walk('POST /robots/{id}/commands', async () => {
    const command = {
      interface: 'topic',
      name: '/cmd_vel',
      type: 'geometry_msgs/msg/Twist',
      payload: { linear: { x: 1 } },
    };
    const answer = await cloud.post<{ uuid: string }>('/robots/rover-1/commands', command);
    expectOne(answer, 201, { uuid: 'uuid' });
    commandUuid = answer.body.uuid;
  });
  walk('GET /commands', async () => expectList(await cloud.get('/commands'), COMMAND));
  walk('GET /robots/{id}/commands', async () => expectList(await cloud.get('/robots/rover-1/commands'), ROBOT_COMMAND));
  walk('GET /commands/{id}', async () => {
    const answer = await cloud.get(`/commands/${commandUuid}`);
    expectOne(answer, 200, COMMAND);
    // The robot has never been provisioned (spec part 3, rules 1 and 2).
    expect(answer.body).toMatchObject({ robot_id: 'rover-1', state: 'error', error_code: 'robot_not_provisioned' });
  });

  // 4.2
  walk('POST /robots', async () => expectOne(await cloud.post('/robots', { id: 'rover-2' }), 201, CREATED_ROBOT));
  walk('GET /robots', async () => {
    const answer = await cloud.get<Robot[]>('/robots');
    expectList(answer, ROBOT);
    for (const entry of answer.body) expect(faults(entry.vitals, ROBOT_VITALS)).toEqual([]);
  });
  walk('GET /robots/{id}', async () => {
    const answer = await cloud.get<Robot>('/robots/rover-1');
    expectOne(answer, 200, ROBOT);
    expect(faults(answer.body.vitals, ROBOT_VITALS)).toEqual([]);
  });
  walk('GET /robots/{id}/vitals', async () => expectList(await cloud.get('/robots/rover-1/vitals'), VITAL));
  walk('PATCH /robots/{id}/vitals/config', async () =>
    expectOne(await cloud.patch('/robots/rover-1/vitals/config', { enabled: true }), 200, MESSAGE),
  );

  // 4.3
  walk('POST /robots/{id}/streams', async () => {
    const odom = { source: '/odom', type: 'nav_msgs/msg/Odometry', hz: 5 };
    expectOne(await cloud.post('/robots/rover-1/streams', odom), 201, MESSAGE);
    const scan = { source: '/scan', type: 'sensor_msgs/msg/LaserScan', hz: 0.5 };
    expectOne(await cloud.post('/robots/rover-1/streams', scan), 201, MESSAGE);
  });
  walk('GET /robots/{id}/streams', async () => {
    const answer = await cloud.get<Stream[]>('/robots/rover-1/streams');
    expectList(answer, STREAM);
    expect(answer.body.map((entry) => entry.num_recordings)).toEqual([1, 0]);
    expect(answer.body[0]?.first_recording).not.toBeNull();
    expect(answer.body[1]).toMatchObject({ first_recording: null, last_recording: null });
  });
  walk('PATCH /robots/{id}/{stream}', async () =>
    expectOne(await cloud.patch('/robots/rover-1/%2Fodom', { enabled: false, hz: 1 }), 200, MESSAGE),
  );
  walk('GET /robots/{id}/logs', async () => {
    expectList(await cloud.get('/robots/rover-1/logs'), DATA_POINT);
    expectList(await cloud.get('/robots/rover-1/logs?source=%2Fodom&latest_only=true'), DATA_POINT);
  });
  walk('GET /robots/{id}/logs/config', async () => {
    expectOne(await cloud.get('/robots/rover-1/logs/config'), 200, LOG_CONFIG);
    expectOne(await cloud.get('/robots/rover-2/logs/config'), 200, LOG_CONFIG);
  });

  // 4.4
  walk('POST /compose-files', async () => {
    const file = { id: 'stack', content: { services: { web: { image: 'nginx' } } } };
    expectOne(await cloud.post('/compose-files', file), 201, { id: 'string' });
  });
  walk('GET /compose-files', async () => expectList(await cloud.get('/compose-files'), COMPOSE_FILE));
  walk('GET /compose-files/{id}', async () => expectOne(await cloud.get('/compose-files/stack'), 200, COMPOSE_FILE));
  walk('POST /robots/{id}/compose-file', async () =>
    expectOne(await cloud.post('/robots/rover-1/compose-file', { id: 'stack' }), 202, MESSAGE),
  );
  walk('GET /robots/{id}/compose-file', async () => {
    const answer = await cloud.get('/robots/rover-1/compose-file');
    expectOne(answer, 200, ROBOT_COMPOSE_FILE);
    expect(answer.body).toMatchObject({ state: 'pending_up', error_code: null });
  });

  it('leaves out no documented endpoint', () => {
    // Part 4 of the spec, in its order.
    const documented = [
      'GET /commands',
      'GET /robots/{id}/commands',
      'GET /commands/{id}',
      'POST /robots/{id}/commands',
      'GET /robots',
      'GET /robots/{id}',
      'POST /robots',
      'GET /robots/{id}/vitals',
      'PATCH /robots/{id}/vitals/config',
      'GET /robots/{id}/streams',
      'POST /robots/{id}/streams',
      'PATCH /robots/{id}/{stream}',
      'GET /robots/{id}/logs',
      'GET /robots/{id}/logs/config',
      'GET /compose-files',
      'GET /compose-files/{id}',
      'POST /compose-files',
      'GET /robots/{id}/compose-file',
      'POST /robots/{id}/compose-file',
    ];
    expect([...walked].sort()).toEqual(documented.sort());
  });
});
