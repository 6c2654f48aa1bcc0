import { CdrError } from './cdr-error.js';
import { CdrMessageReader } from './cdr-reader.js';
import { CdrMessageWriter } from './cdr-writer.js';
import type { MessageSchema } from './definitions.js';
import { layoutOf } from './layout.js';
import type { RosMessage } from './values.js';

export { CdrError };

/**
 * A message as CDR with its 4-byte encapsulation header (plain, little endian), in memory of its own.
 * @throws CdrError where a field is missing or not exactly of its type.
 */
export function encodeCdr(schema: MessageSchema, message: RosMessage): Uint8Array {
  const layout = layoutOf(schema);
  const writer = new CdrMessageWriter(schema.type, 2 * layout.bytesMin + 64);
  writer.struct(layout, message);
  return writer.finish();
}

/**
 * The message in CDR bytes; shares no memory with them. Bytes after the message are ignored, as ROS pads some.
 * @throws CdrError where the bytes are cut, corrupt or of another type.
 */
export function decodeCdr(schema: MessageSchema, cdr: Uint8Array): RosMessage {
  const layout = layoutOf(schema);
  return new CdrMessageReader(schema.type, cdr).struct(layout);
}
