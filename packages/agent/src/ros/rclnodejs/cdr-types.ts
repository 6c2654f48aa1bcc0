import type {
  ActionClass,
  MessageClass,
  NativeMessage,
  Rclnodejs,
  ReceivedClass,
  ReceivedMessage,
  ServiceClass,
} from './api.js';
import { generatedClass, NativeMemory } from './native-memory.js';

/**
 * Message, service and action classes in the place of those that rclnodejs generates: values cross as CDR, so that the
 * codec of shared/ros reads and writes them and nothing of JavaScript reaches native code. (See native-memory.ts.)
 *
 * What native code calls here must not throw, as that would end the process: what goes wrong is handed on as an Unread.
 */

/** A message that could not be read where it came in. */
export class Unread {
  constructor(readonly cause: unknown) {}
}

/** What a callback gets of a received message. */
export type ReceivedCdr = Uint8Array | Unread;

/** For topics, whose messages rclnodejs never looks into. */
export function topicType(type: string): MessageClass {
  const [pkgName = '', subFolder = '', interfaceName = ''] = type.split('/');
  return class implements NativeMessage {
    toRawROS(): Buffer {
      throw new TypeError('a topic is published and received as CDR');
    }
    serialize(): Buffer {
      throw new TypeError('a topic is published and received as CDR');
    }
    static type() {
      return { pkgName, subFolder, interfaceName };
    }
  };
}

/** A message to send: its struct lives from its making to `free`. */
export class OutgoingMessage {
  readonly #memory: NativeMemory;
  readonly #struct: Buffer;

  /** @throws Error where ROS does not take the bytes for a message of the type. */
  constructor(memory: NativeMemory, cdr: Uint8Array) {
    this.#memory = memory;
    this.#struct = memory.allocate();
    try {
      memory.write(this.#struct, cdr);
    } catch (error) {
      this.free();
      throw error;
    }
  }

  toRawROS(): Buffer {
    return this.#struct;
  }

  serialize(): Buffer {
    return this.#struct;
  }

  free(): void {
    this.#memory.free(this.#struct);
  }
}

export interface CdrService {
  readonly serviceClass: ServiceClass;
  /** @throws Error where ROS does not take the bytes for a request. */
  request(cdr: Uint8Array): OutgoingMessage;
  /** How many answers were received so far. */
  received(): number;
}

/** @throws DefinitionError where rclnodejs has no such service type. */
export function cdrService(rcl: Rclnodejs, type: string): CdrService {
  const [pkgName = '', subFolder = '', interfaceName = ''] = type.split('/');
  const memory = new NativeMemory(rcl, `${type}_Request`);
  let received = 0;
  const Response = receivedClass(
    new NativeMemory(rcl, `${type}_Response`),
    (cdr) => cdr,
    () => {
      received += 1;
    },
  );
  const name = { pkgName, subFolder, interfaceName };
  const serviceClass = Object.assign(() => {}, { Request: OutgoingMessage, Response, type: () => name });
  return { serviceClass, request: (cdr) => new OutgoingMessage(memory, cdr), received: () => received };
}

export interface CdrAction {
  readonly actionClass: ActionClass;
  /** @param cdr of `{goal_id, goal}`. @throws Error where ROS does not take the bytes for a goal. */
  goal(cdr: Uint8Array): OutgoingMessage;
}

/** @throws DefinitionError where rclnodejs has no such action type. */
export function cdrAction(rcl: Rclnodejs, type: string): CdrAction {
  const [pkgName = '', subFolder = '', interfaceName = ''] = type.split('/');
  const generated = generatedClass(rcl, type).impl;
  const memory = new NativeMemory(rcl, `${type}_SendGoal_Request`);
  // rclnodejs puts the goal id and the goal into a request of its making; the goal is the whole message already.
  const SendGoalRequest = class implements NativeMessage {
    goal_id: unknown;
    goal: OutgoingMessage | undefined;
    serialize(): Buffer {
      if (this.goal === undefined) throw new TypeError('a goal request without a goal');
      return this.goal.serialize();
    }
    toRawROS(): Buffer {
      return this.serialize();
    }
  };
  const impl = {
    SendGoalService: { Request: SendGoalRequest, Response: generated.SendGoalService.Response },
    GetResultService: {
      Request: generated.GetResultService.Request,
      // rclnodejs takes `status` and `result` of it and gives us the latter.
      Response: receivedClass(new NativeMemory(rcl, `${type}_GetResult_Response`), (cdr) => ({
        status: 0,
        result: cdr,
      })),
    },
    FeedbackMessage: receivedClass(new NativeMemory(rcl, `${type}_FeedbackMessage`), (cdr) => ({ feedback: cdr })),
    CancelGoal: generated.CancelGoal,
    GoalStatusArray: unreadStatusClass(new NativeMemory(rcl, 'action_msgs/msg/GoalStatusArray')),
  };
  const name = { pkgName, subFolder, interfaceName };
  const actionClass = Object.assign(() => {}, { impl, type: () => name });
  return { actionClass, goal: (cdr) => new OutgoingMessage(memory, cdr) };
}

/**
 * For the status of all goals of a server: nothing in it is news to us, who ask for results. It is taken, as it would
 * keep the client ready for ever, and freed: the generated class loses some of it each time.
 */
function unreadStatusClass(memory: NativeMemory): ReceivedClass {
  return class extends receivedClass(memory, () => null) {
    /** Where rclnodejs looks for goals that have ended. */
    readonly status_list = { data: [] };
    override deserialize(): void {}
  };
}

/** Where a feedback message's goal id stands: after the header. */
const GOAL_ID = { begin: 4, end: 20 };

/** A class that rclnodejs receives into; `plain` is what it then hands to a callback, `onReceived` is called before. */
function receivedClass(
  memory: NativeMemory,
  plain: (cdr: ReceivedCdr) => unknown,
  onReceived = () => {},
): ReceivedClass {
  return class Received implements ReceivedMessage {
    readonly #struct = memory.allocate();
    #cdr: ReceivedCdr = new Unread(new TypeError('nothing was received'));

    get refObject(): this {
      return this;
    }

    /** By which rclnodejs finds the goal of a feedback message. */
    get goal_id(): { uuid: Uint8Array } {
      return {
        uuid: this.#cdr instanceof Unread ? new Uint8Array(16) : this.#cdr.slice(GOAL_ID.begin, GOAL_ID.end),
      };
    }

    toRawROS(): Buffer {
      return this.#struct;
    }

    serialize(): Buffer {
      return this.#struct;
    }

    /** @param received the one of this class that was received into. */
    deserialize(received: Received): void {
      onReceived();
      try {
        this.#cdr = memory.read(received.#struct);
      } catch (cause) {
        this.#cdr = new Unread(cause);
      }
    }

    toPlainObject(): unknown {
      return plain(this.#cdr);
    }

    static destroyRawROS(received: Received): void {
      try {
        memory.free(received.#struct);
      } catch {
        // What ROS has just written it does not refuse to write over; if it ever did, some memory would be lost.
      }
    }
  };
}
