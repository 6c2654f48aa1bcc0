import { convertMessage } from './conversion.js';
import type { MessageSchema } from './definitions.js';
import { layoutOf } from './layout.js';
import type { RosMessage } from './values.js';

export { PayloadError } from './payload-error.js';

/**
 * The ROS message that a JSON value means: every field checked against the type, absent ones taking the type's
 * defaults. Numbers come out as ROS will hold them: 64-bit integers as bigint, float32 rounded to single precision,
 * lists of numbers as typed arrays. Messages made in code (with bigints and typed arrays) are taken as well.
 * @param path what the value is called in errors, e.g. `payload`.
 * @throws PayloadError naming each field that does not fit, and nothing else.
 */
export function fromJson(schema: MessageSchema, json: unknown, path: string): RosMessage {
  return convertMessage(layoutOf(schema), json, path);
}
