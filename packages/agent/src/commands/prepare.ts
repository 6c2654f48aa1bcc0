import type { Command } from '@drover/shared/link/command';
import { encodeCdr } from '@drover/shared/ros/cdr';
import type { InterfaceDefinition } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import type { RosMessage } from '@drover/shared/ros/values';
import type { Policy } from '../policy/policy.js';
import type { RosGraph } from '../ros/graph.js';
import { WrongKindError } from './outcome.js';

type Definition<K extends InterfaceDefinition['kind']> = Extract<InterfaceDefinition, { kind: K }>;

/** A command checked against its type, with nothing left to do but to run it. */
export type Prepared =
  | { readonly kind: 'topic'; readonly name: string; readonly cdr: Uint8Array }
  | { readonly kind: 'service'; readonly name: string; readonly type: Definition<'srv'>; readonly request: RosMessage }
  | {
      readonly kind: 'action_send_goal';
      readonly name: string;
      readonly type: Definition<'action'>;
      readonly goal: RosMessage;
    };

/**
 * Checks a command against the robot's policy and the graph's types, without any effect. Policy first: what is not
 * allowed is not even looked at.
 * @throws NotAllowedError | UnknownTypeError | WrongKindError | PayloadError | CdrError
 */
export async function prepare(graph: RosGraph, policy: Policy, command: Command): Promise<Prepared> {
  policy.check({ interface: command.interface, name: graph.names.resolve(command.name) });
  return await fitted(graph, command);
}

/** The part of a command that says what it does. */
export type CommandContent = Pick<Command, 'interface' | 'name' | 'type' | 'payload'>;

/**
 * A command put into ROS's terms by its type.
 * @throws UnknownTypeError | WrongKindError | PayloadError | CdrError
 */
export async function fitted(graph: Pick<RosGraph, 'describe' | 'names'>, command: CommandContent): Promise<Prepared> {
  const name = graph.names.resolve(command.name);
  const type = await graph.describe(command.type);
  switch (command.interface) {
    case 'topic': {
      if (type.kind !== 'msg') throw new WrongKindError(command.type, type.kind, 'msg');
      const message = fromJson(type.message, command.payload, 'payload');
      return { kind: 'topic', name, cdr: encodeCdr(type.message, message) };
    }
    case 'service': {
      if (type.kind !== 'srv') throw new WrongKindError(command.type, type.kind, 'srv');
      return { kind: 'service', name, type, request: fromJson(type.request, command.payload, 'payload') };
    }
    case 'action_send_goal': {
      if (type.kind !== 'action') throw new WrongKindError(command.type, type.kind, 'action');
      return { kind: 'action_send_goal', name, type, goal: fromJson(type.goal, command.payload, 'payload') };
    }
  }
}
