import type { MessageSchema } from './definitions.js';
import type { RosMessage } from './values.js';

/** A message as JSON that `fromJson` takes back. Never throws on a message of the schema. */
export function toJson(schema: MessageSchema, message: RosMessage): unknown {
  throw new Error(`not written yet ${schema} ${message}`);
}
