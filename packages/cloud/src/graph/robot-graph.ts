import { ApiError } from '@drover/shared/api/errors';
import type { InterfacePart, RobotGraph, RosInterface } from '@drover/shared/api/graph';
import { type GraphAnswer, graphAnswer, type InterfaceAnswer, interfaceAnswer } from '@drover/shared/link/answers';
import { DefinitionError, parseSchema } from '@drover/shared/ros/definitions';
import { exampleOf } from '@drover/shared/ros/example';
import { fieldTreeOf } from '@drover/shared/ros/field-tree';
import { jsonSchemaOf } from '@drover/shared/ros/json-schema';
import { splitTypeName } from '@drover/shared/ros/types';
import type { RobotRef } from '../robots/robots.js';
import { inquire, type RobotQuestions } from './inquiry.js';

/** A robot's ROS graph and types, asked of the robot at each request: nothing of them is kept here. */
export class RobotGraphs {
  readonly #questions: RobotQuestions;

  constructor(questions: RobotQuestions) {
    this.#questions = questions;
  }

  /** @throws ApiError unavailable | rate_limited */
  async graph(robot: RobotRef): Promise<RobotGraph> {
    return shownGraph(await inquire(this.#questions, robot, { about: 'graph' }, graphAnswer));
  }

  /**
   * @param type full name.
   * @throws ApiError not_found | unavailable | rate_limited
   */
  async interface(robot: RobotRef, type: string): Promise<RosInterface> {
    const form = interfaceAnswer.refine((given) => isAbout(given, type), `must be about ${type}`);
    const answer = await inquire(this.#questions, robot, { about: 'interface', type }, form);
    try {
      return shownInterface(type, answer);
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error;
      const message = `robot ${robot.id} has a definition of ${type} that can not be read: ${error.message}`;
      throw new ApiError('unavailable', message, { cause: error });
    }
  }
}

/** Whether the robot tells of the type that it was asked for. */
function isAbout(answer: InterfaceAnswer, type: string): boolean {
  if (answer.type !== type || answer.kind !== splitTypeName(type).kind) return false;
  switch (answer.kind) {
    case 'msg':
      return answer.message.type === type;
    case 'srv':
      return answer.request.type === `${type}_Request` && answer.response.type === `${type}_Response`;
    case 'action': {
      const { goal, result, feedback } = answer;
      const isPart = (part: { type: string }, name: string) => part.type === `${type}_${name}`;
      return isPart(goal, 'Goal') && isPart(result, 'Result') && isPart(feedback, 'Feedback');
    }
  }
}

/** @throws DefinitionError */
function shownInterface(type: string, answer: InterfaceAnswer): RosInterface {
  switch (answer.kind) {
    case 'msg':
      return { type, kind: 'msg', message: shownPart(answer.message) };
    case 'srv':
      return { type, kind: 'srv', request: shownPart(answer.request), response: shownPart(answer.response) };
    case 'action':
      return {
        type,
        kind: 'action',
        goal: shownPart(answer.goal),
        result: shownPart(answer.result),
        feedback: shownPart(answer.feedback),
      };
  }
}

function shownGraph({ nodes, topics, services, actions }: GraphAnswer): RobotGraph {
  return {
    nodes,
    topics: topics.map(({ name, types, publishers, subscribers }) => ({
      name,
      types,
      publisher_count: publishers.length,
      subscriber_count: subscribers.length,
      publishers,
      subscribers,
    })),
    services,
    actions,
  };
}

function shownPart({ type, text }: { type: string; text: string }): InterfacePart {
  const schema = parseSchema(type, text);
  return {
    type,
    definition: text,
    fields: [...fieldTreeOf(schema)] as InterfacePart['fields'],
    example: exampleOf(schema),
    json_schema: { ...jsonSchemaOf(schema) },
  };
}
