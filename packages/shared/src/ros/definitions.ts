import type { MessageDefinition } from '@foxglove/message-definition';

/** A message type with everything it contains: what the codec, the value rules and an MCAP file need. */
export interface MessageSchema {
  /** Full name, `pkg/msg/Name` (a service's parts are `pkg/srv/Name_Request`, an action's `pkg/action/Name_Goal`, …). */
  readonly type: string;
  /** ros2msg text: the message's own definition, then each dependency after a line of 80 `=` and `MSG: pkg/Name`. */
  readonly text: string;
  /** SHA-256 of `text`, hex. */
  readonly hash: string;
  /** The parsed definitions, the message's own first. */
  readonly definitions: readonly MessageDefinition[];
}

export type InterfaceDefinition =
  | { readonly kind: 'msg'; readonly type: string; readonly message: MessageSchema }
  | {
      readonly kind: 'srv';
      readonly type: string;
      readonly request: MessageSchema;
      readonly response: MessageSchema;
    }
  | {
      readonly kind: 'action';
      readonly type: string;
      readonly goal: MessageSchema;
      readonly result: MessageSchema;
      readonly feedback: MessageSchema;
    };

export { DefinitionError, UndefinedTypeError } from './definition-error.js';

/** Where the text of a type's own .msg, .srv or .action comes from. */
export interface DefinitionSource {
  /** @param type full name; resolves with undefined where there is no such type. */
  read(type: string): Promise<string | undefined>;
}

/**
 * The definition of a message, service or action with all that it contains.
 * @param type full name, `pkg/msg/Name`.
 * @throws UndefinedTypeError | DefinitionError | TypeNameError
 */
export async function loadInterface(type: string, source: DefinitionSource): Promise<InterfaceDefinition> {
  throw new Error(`not written yet ${type} ${source}`);
}

/**
 * A message's schema from its stored ros2msg text.
 * @param type full name, `pkg/msg/Name`.
 * @throws DefinitionError | TypeNameError
 */
export function parseSchema(type: string, text: string): MessageSchema {
  throw new Error(`not written yet ${type} ${text}`);
}
