import type { RobotCheck, RobotCheckName } from '@drover/shared/link/answers';
import type { Question } from '@drover/shared/link/query';
import { CdrError } from '@drover/shared/ros/cdr';
import { DefinitionError } from '@drover/shared/ros/definitions';
import { PayloadError } from '@drover/shared/ros/from-json';
import { checkRosName } from '@drover/shared/ros/names';
import { listenersOf, whyNobody } from '../commands/listeners.js';
import { WrongKindError } from '../commands/outcome.js';
import { READY_TIMEOUT_MS } from '../commands/perform.js';
import { fitted } from '../commands/prepare.js';
import { NotAllowedError, type Policy } from '../policy/policy.js';
import { isAgentNode } from '../ros/agent-nodes.js';
import { otherTypesWords, QuarantinedError, type RosGraph, UnknownTypeError } from '../ros/graph.js';
import type { NativeGuard } from '../ros/guard.js';

export type CheckQuestion = Extract<Question, { about: 'check' }>;

export interface CheckParts {
  readonly graph: RosGraph;
  readonly policy: Policy;
  /** What refuses a command that it would be refused with. */
  readonly guard: NativeGuard;
}

/**
 * Tries a command dry, by the code that a real one passes: nothing is published, called, sent or made on the graph. What
 * it finds holds for the moment it looks; a server may come up, or go, before the command does.
 */
export async function checkCommand(
  { graph, policy, guard }: CheckParts,
  command: CheckQuestion,
): Promise<RobotCheck[]> {
  const name = graph.names.resolve(command.name);
  const wrongName = checkRosName(name);
  return [
    ...(await checkPayload(graph, command)),
    check(
      'name_resolves',
      wrongName === null,
      wrongName ?? (name === command.name ? name : `${command.name} is ${name}`),
    ),
    checkQuarantine(guard, command, name) ?? (await checkPeers(graph, command, name)),
    checkPolicy(policy, command, name),
  ];
}

async function checkPayload(graph: RosGraph, command: CheckQuestion): Promise<RobotCheck[]> {
  const known = check('type_known', true, `the robot has ${command.type}`);
  try {
    await fitted(graph, command);
    return [known, check('payload_fits', true, `it fits ${command.type}`)];
  } catch (error) {
    if (error instanceof PayloadError || error instanceof CdrError) {
      return [known, check('payload_fits', false, error.message)];
    }
    const isOfType = [UnknownTypeError, WrongKindError, DefinitionError].some((kind) => error instanceof kind);
    if (!isOfType || !(error instanceof Error)) throw error;
    return [
      check('type_known', false, error.message),
      check('payload_fits', false, 'not checked: it takes the type to know'),
    ];
  }
}

const SOURCE_KIND = { topic: 'publisher', service: 'service', action_send_goal: 'action' } as const;

/** Whoever is there: what is quarantined is not handed to. */
function checkQuarantine(guard: NativeGuard, command: CheckQuestion, name: string): RobotCheck | null {
  try {
    guard.admit({ kind: SOURCE_KIND[command.interface], name, type: command.type });
    return null;
  } catch (error) {
    if (!(error instanceof QuarantinedError)) throw error;
    return check(command.interface === 'topic' ? 'subscribers_there' : 'server_there', false, error.message);
  }
}

async function checkPeers(graph: RosGraph, command: CheckQuestion, name: string): Promise<RobotCheck> {
  if (command.interface === 'topic') {
    const topic = { name, type: command.type, latched: command.latched };
    const ends = await graph.endpointsOf(name);
    // Fast DDS lets the agent know a topic as one type only (publishers.ts).
    const clash =
      graph.kind === 'rclnodejs' &&
      ends.subscribers.find(({ node, type }) => type !== command.type && isAgentNode(node ?? ''));
    if (clash) {
      const remedy = 'delete that stream, or no command of another type can be sent there';
      return check('subscribers_there', false, `a stream of the agent's has ${name} as ${clash.type}: ${remedy}`);
    }
    const listeners = listenersOf(topic, ends);
    if (listeners.length > 0) return check('subscribers_there', true, `subscribed by ${nodesOf(listeners)}`);
    const own = ends.subscribers.some(({ node, type }) => type === command.type && isAgentNode(node ?? ''));
    const notCounted = own ? "; the agent's own subscription does not count" : '';
    return check('subscribers_there', false, `nobody subscribes to ${name} now${notCounted}${whyNobody(topic, ends)}`);
  }
  const kind = command.interface === 'service' ? 'service' : 'action';
  const servers = await graph.serversOf(kind, name);
  const ours = servers.filter(({ type }) => type === command.type);
  if (ours.length > 0) return check('server_there', true, `served by ${nodesOf(ours)}`);
  const waits = servers.length > 0 ? '' : ` (a command waits ${READY_TIMEOUT_MS / 1000} s for one)`;
  const others = otherTypesWords(servers);
  return check('server_there', false, `no ${kind} server of ${command.type} at ${name} now${waits}${others}`);
}

function checkPolicy(policy: Policy, command: CheckQuestion, name: string): RobotCheck {
  try {
    policy.check({ interface: command.interface, name });
    return check('policy_allows', true, `the robot's policy allows ${name}`);
  } catch (error) {
    if (error instanceof NotAllowedError) return check('policy_allows', false, error.message);
    throw error;
  }
}

const NODES_SHOWN_MAX = 5;

function nodesOf(ends: readonly { readonly node: string | null }[]): string {
  const nodes = [...new Set(ends.map(({ node }) => node ?? 'a node not known by name yet'))];
  const more = nodes.length - NODES_SHOWN_MAX;
  return `${nodes.slice(0, NODES_SHOWN_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Messages travel and are shown: a payload's issues may be many. */
const MESSAGE_LENGTH_MAX = 4096;

function check(name: RobotCheckName, ok: boolean, message: string): RobotCheck {
  const text = message.length <= MESSAGE_LENGTH_MAX ? message : `${message.slice(0, MESSAGE_LENGTH_MAX - 1)}…`;
  return { name, ok, message: text };
}
