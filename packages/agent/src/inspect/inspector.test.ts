import { randomUUID } from 'node:crypto';
import { checkAnswer, graphAnswer, interfaceAnswer, type RobotCheckName } from '@drover/shared/link/answers';
import { answer, type Question } from '@drover/shared/link/query';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { UnknownServiceError } from '../compose/docker/logs.js';
import { NO_RULES, Policy } from '../policy/policy.js';
import { readPolicy } from '../policy/policy-file.js';
import { QuarantinedError } from '../ros/graph.js';
import { type NativeGuard, UNGUARDED } from '../ros/guard.js';
import { createSimulatedGraph, type SimulatedGraph } from '../ros/simulated/graph.js';
import { simulatedPeer } from '../ros/simulated/peer.fixture.js';
import type { GraphPeer } from '../ros/testing/peer.js';
import { silent } from '../spool/fixture.js';
import { ANSWERS_UNDER_WAY_MAX, Inspector } from './inspector.js';

const TWIST = 'geometry_msgs/msg/Twist';
const SET_BOOL = 'std_srvs/srv/SetBool';
const FIBONACCI = 'test_msgs/action/Fibonacci';

let graph: SimulatedGraph;
let peer: GraphPeer;
let policy: Policy;
let guard: NativeGuard;
/** Questions about compose are asked in compose/questions.docker.test.ts, of the real engine. */
const compose = {
  plan: () => Promise.reject(new Error('no engine')),
  logs: () => Promise.reject(new UnknownServiceError('no container of a service web is here')),
};

beforeEach(async () => {
  const made = createSimulatedGraph({ onFault: () => {} });
  await made.start();
  onTestFinished(() => made.stop());
  graph = made;
  peer = simulatedPeer(made);
  policy = new Policy(NO_RULES);
  guard = UNGUARDED;
});

async function ask(question: Question) {
  const answered = await new Inspector({ graph, policy, guard, compose, log: silent }).answer({
    kind: 'query',
    id: randomUUID(),
    question,
  });
  return answer.parse(answered);
}

type Command = Omit<Extract<Question, { about: 'check' }>, 'about' | 'latched'> & { latched?: boolean };

/** The checks by name; what is ok, without its words where that is all that matters. */
async function check(command: Command): Promise<Partial<Record<RobotCheckName, { ok: boolean; message: string }>>> {
  const { result, error } = await ask({ about: 'check', latched: false, ...command });
  expect(error).toBeNull();
  const { checks } = checkAnswer.parse(result);
  return Object.fromEntries(checks.map(({ name, ok, message }) => [name, { ok, message }]));
}

const drive = (overrides: Partial<Command> = {}): Command => ({
  interface: 'topic',
  name: '/cmd_vel',
  type: TWIST,
  payload: { linear: { x: 0.2 } },
  ...overrides,
});
const motors = (overrides: Partial<Command> = {}): Command =>
  drive({ interface: 'service', name: '/motors', type: SET_BOOL, payload: { data: true }, ...overrides });
const ok = (message: string) => ({ ok: true, message: expect.stringContaining(message) });
const bad = (message: string) => ({ ok: false, message: expect.stringContaining(message) });

describe('a command tried dry', () => {
  it('passes every check where it would work, for each interface', async () => {
    await peer.subscribe({ topic: '/cmd_vel', type: TWIST });
    await peer.serveSetBool('/motors');
    await peer.serveFibonacci('/fibonacci');
    expect(await check(drive({ name: 'cmd_vel' }))).toEqual({
      type_known: ok(TWIST),
      payload_fits: ok('fits'),
      name_resolves: ok('cmd_vel is /cmd_vel'),
      subscribers_there: ok('subscribed by /peer'),
      policy_allows: ok('allows /cmd_vel'),
    });
    expect(await check(motors())).toMatchObject({ payload_fits: ok(''), server_there: ok('served by /peer') });
    const goal = drive({ interface: 'action_send_goal', name: '/fibonacci', type: FIBONACCI, payload: { order: 3 } });
    expect(await check(goal)).toMatchObject({ payload_fits: ok(''), server_there: ok('served by /peer') });
  });

  it('names an unknown type, and does not pretend to have checked the payload', async () => {
    expect(await check(drive({ type: 'no_such_msgs/msg/X' }))).toMatchObject({
      type_known: bad('no such ROS type here: no_such_msgs/msg/X'),
      payload_fits: bad('not checked'),
      name_resolves: ok('/cmd_vel'),
    });
  });

  it('names the path of what does not fit', async () => {
    expect(await check(drive({ payload: { linear: { x: 'fast' } } }))).toMatchObject({
      type_known: ok(''),
      payload_fits: bad('payload.linear.x: expected a number, got "fast"'),
    });
  });

  it('says how a private name resolves, and that it has grown too long by it', async () => {
    expect(await check(drive({ name: '~/x' }))).toMatchObject({ name_resolves: ok('~/x is /drover_agent/x') });
    expect(await check(drive({ name: `~/${'x'.repeat(240)}` }))).toMatchObject({ name_resolves: bad('at most 247') });
  });

  it('says that nobody is there', async () => {
    expect(await check(drive())).toMatchObject({ subscribers_there: bad('nobody subscribes to /cmd_vel now') });
    expect(await check(motors())).toMatchObject({
      server_there: bad(`no service server of ${SET_BOOL} at /motors now`),
    });
  });

  it('says that what is there is of another type', async () => {
    await peer.serveSetBool('/motors');
    await peer.subscribe({ topic: '/cmd_vel', type: 'std_msgs/msg/String' });
    const trigger = motors({ type: 'std_srvs/srv/Trigger', payload: {} });
    expect(await check(trigger)).toMatchObject({ server_there: bad(`there is one of type ${SET_BOOL}`) });
    expect(await check(drive())).toMatchObject({ subscribers_there: bad('there is one of type std_msgs/msg/String') });
  });

  it('says that a subscriber asks for latched messages, and is content when they are', async () => {
    await peer.subscribe({ topic: '/cmd_vel', type: TWIST, durability: 'transient_local' });
    expect(await check(drive())).toMatchObject({ subscribers_there: bad('send it with latched') });
    expect(await check(drive({ latched: true }))).toMatchObject({ subscribers_there: ok('/peer') });
  });

  it('does not take the agent’s own stream for a subscriber', async () => {
    await graph.subscribe({ topic: '/cmd_vel', type: TWIST, drainHz: 20, depth: 1, onMessage: () => {} });
    expect(await check(drive())).toMatchObject({
      subscribers_there: bad("nobody subscribes to /cmd_vel now; the agent's own subscription does not count"),
    });
  });

  it('says that what it would act on is quarantined, whoever is there', async () => {
    await peer.serveSetBool('/motors');
    guard = {
      admit: (source) => {
        if (source.kind === 'service') throw new QuarantinedError(source, 0, 3, 'SIGABRT');
        return UNGUARDED.admit(source);
      },
    };
    expect(await check(motors())).toMatchObject({ server_there: bad('the service /motors is quarantined') });
    await peer.subscribe({ topic: '/cmd_vel', type: TWIST });
    expect(await check(drive())).toMatchObject({ subscribers_there: ok('/peer') });
  });

  it('names the rule by which the policy refuses it', async () => {
    policy = new Policy(readPolicy({ topics: { deny: [{ match: '/cmd_vel', rule: 'hands-off' }] } }).rules);
    expect(await check(drive())).toMatchObject({ payload_fits: ok(''), policy_allows: bad('rule hands-off') });
    expect(await check(motors())).toMatchObject({ policy_allows: ok('') });
  });

  it('leaves the graph as it was, and nothing is received', async () => {
    const subscription = await peer.subscribe({ topic: '/cmd_vel', type: TWIST });
    await peer.serveSetBool('/motors');
    const before = await graph.survey();
    for (const command of [drive(), drive({ latched: true }), motors(), drive({ name: '/elsewhere' })])
      await check(command);
    expect(await graph.survey()).toEqual(before);
    expect(subscription.received).toEqual([]);
  });
});

describe('questions about the graph', () => {
  it('are answered with what is there', async () => {
    await peer.advertise({ topic: '/t', type: TWIST, reliability: 'best_effort' });
    const survey = graphAnswer.parse((await ask({ about: 'graph' })).result);
    expect(survey.nodes).toEqual(['/drover_agent', '/peer']);
    expect(survey.topics).toMatchObject([{ name: '/t', publishers: [{ qos: { reliability: 'best_effort' } }] }]);
  });

  it('about a type with its definition, in its parts', async () => {
    const text = async (type: string) => interfaceAnswer.parse((await ask({ about: 'interface', type })).result);
    expect(await text(TWIST)).toMatchObject({
      kind: 'msg',
      message: { type: TWIST, text: expect.stringContaining('MSG: geometry_msgs/Vector3') },
    });
    expect(await text(SET_BOOL)).toMatchObject({
      kind: 'srv',
      request: { text: expect.stringContaining('data') },
      response: { text: expect.stringContaining('success') },
    });
    expect(await text(FIBONACCI)).toMatchObject({ kind: 'action', goal: {}, result: {}, feedback: {} });
  });

  it('about a type that is not there are refused by a code of their own', async () => {
    const { result, error } = await ask({ about: 'interface', type: 'std_msgs/msg/Nothing' });
    expect(result).toBeNull();
    expect(error).toMatchObject({ code: 'unknown_type', message: expect.stringContaining('std_msgs/msg/Nothing') });
  });

  it('about a service that is not there are refused by a code of their own', async () => {
    const { error } = await ask({ about: 'compose_logs', service: 'web', tail: 1 });
    expect(error).toMatchObject({ code: 'unknown_service', message: expect.stringContaining('web') });
  });

  it('are answered so many at once, and one more is refused', async () => {
    const inspector = new Inspector({ graph, policy, guard, compose, log: silent });
    const one = () => inspector.answer({ kind: 'query', id: randomUUID(), question: { about: 'graph' } });
    const answers = await Promise.all(Array.from({ length: ANSWERS_UNDER_WAY_MAX + 1 }, one));
    expect(answers.filter(({ error }) => error === null)).toHaveLength(ANSWERS_UNDER_WAY_MAX);
    expect(answers.at(-1)?.error).toMatchObject({ code: 'busy' });
    expect((await one()).error).toBeNull();
  });

  it('that end badly are answered, too', async () => {
    await graph.stop();
    expect((await ask({ about: 'graph' })).error).toMatchObject({ code: 'failed' });
  });
});
