import type { MessageDefinition } from '@foxglove/message-definition';
import { convertMessage } from './conversion.js';
import { DefinitionError, UndefinedTypeError } from './definition-error.js';
import {
  DEFINITION_SECTIONS_MAX,
  DEFINITION_TEXT_MAX,
  joinSections,
  parseDefinitions,
  referencesOf,
  type Section,
  splitParts,
  textHash,
} from './definition-text.js';
import { layoutOf } from './layout.js';
import { PayloadError } from './payload-error.js';
import { splitTypeName } from './types.js';

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

export { DefinitionError, UndefinedTypeError };

/** Where the text of a type's own .msg, .srv or .action comes from. */
export interface DefinitionSource {
  /** @param type full name; resolves with undefined where there is no such type. */
  read(type: string): Promise<string | undefined>;
}

/**
 * The definition of a message, service or action with all that it contains.
 * @param type full name, `pkg/msg/Name`.
 * @throws UndefinedTypeError | DefinitionError | TypeNameError, and what the source throws.
 */
export async function loadInterface(type: string, source: DefinitionSource): Promise<InterfaceDefinition> {
  const { kind } = splitTypeName(type);
  const text = await source.read(type);
  if (text === undefined) throw new UndefinedTypeError(type, null);
  const part = (suffix: string, own: string | undefined) => loadMessage(`${type}_${suffix}`, own ?? '', source);
  switch (kind) {
    case 'msg':
      return { kind, type, message: await loadMessage(type, text, source) };
    case 'srv': {
      const [request, response] = expectParts(type, text, 2);
      return { kind, type, request: await part('Request', request), response: await part('Response', response) };
    }
    case 'action': {
      const [goal, result, feedback] = expectParts(type, text, 3);
      return {
        kind,
        type,
        goal: await part('Goal', goal),
        result: await part('Result', result),
        feedback: await part('Feedback', feedback),
      };
    }
  }
}

/**
 * A message's schema from its stored ros2msg text. Time and memory are bounded whatever the text is.
 * @param type full name, `pkg/msg/Name`.
 * @throws DefinitionError | TypeNameError
 */
export function parseSchema(type: string, text: string): MessageSchema {
  const schema = { type, text, hash: textHash(text), definitions: parseDefinitions(type, text) };
  const layout = layoutOf(schema);
  try {
    // Defaults that do not fit their fields show here, not at the first message.
    convertMessage(layout, {}, 'default');
  } catch (error) {
    if (error instanceof PayloadError) throw new DefinitionError(type, error.message, { cause: error });
    throw error;
  }
  return schema;
}

function expectParts(type: string, text: string, count: number): string[] {
  const parts = splitParts(text);
  if (parts.length !== count) {
    throw new DefinitionError(type, `expected ${count} parts separated by ---, got ${parts.length}`);
  }
  return parts;
}

/** Breadth first, so that what a reader looks for next stands next. */
async function loadMessage(type: string, own: string, source: DefinitionSource): Promise<MessageSchema> {
  const dependencies: Section[] = [];
  const seen = new Set<string>();
  const pending = [{ type, text: own }];
  let characters = 0;
  for (let current = pending.shift(); current; current = pending.shift()) {
    characters += current.text.length;
    if (characters > DEFINITION_TEXT_MAX || seen.size > DEFINITION_SECTIONS_MAX) {
      throw new DefinitionError(
        type,
        `it has over ${DEFINITION_SECTIONS_MAX} messages or ${DEFINITION_TEXT_MAX} characters`,
      );
    }
    for (const name of referencesOf(current.type, current.text)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const [pkg, ...rest] = name.split('/');
      const full = `${pkg}/msg/${rest.join('/')}`;
      const text = await source.read(full);
      if (text === undefined) throw new UndefinedTypeError(full, current.type);
      dependencies.push({ name, text });
      pending.push({ type: full, text });
    }
  }
  return parseSchema(type, joinSections(own, dependencies));
}
