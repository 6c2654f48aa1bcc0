import type { MessageSchema } from './definitions.js';
import type { RosMessage } from './values.js';

export { PayloadError } from './payload-error.js';

/**
 * The ROS message that a JSON value means.
 * @param path what the value is called in errors, e.g. `payload`.
 * @throws PayloadError
 */
export function fromJson(schema: MessageSchema, json: unknown, path: string): RosMessage {
  throw new Error(`not written yet ${schema} ${json} ${path}`);
}
