import { CdrError, WIDE_STRINGS } from './cdr-error.js';
import { CdrMessageReader } from './cdr-reader.js';
import { CdrMessageWriter } from './cdr-writer.js';
import type { MessageSchema } from './definitions.js';
import { layoutOf } from './layout.js';
import type { RosMessage } from './values.js';

export { CdrError };

/**
 * A message as CDR with its 4-byte encapsulation header (plain, little endian), in memory of its own.
 * @throws CdrError where a field is missing or not exactly of its type, or the type has wide strings.
 */
export function encodeCdr(schema: MessageSchema, message: RosMessage): Uint8Array {
  const layout = layoutOf(schema);
  if (layout.wide) throw new CdrError(schema.type, WIDE_STRINGS);
  const writer = new CdrMessageWriter(schema.type, 2 * layout.bytesMin + 64);
  writer.struct(layout, message);
  return writer.finish();
}

/**
 * The message in CDR bytes; shares no memory with them. Bytes after the message are ignored, as ROS pads some.
 * @throws CdrError where the bytes are cut, corrupt or of another type, or the type has wide strings.
 */
export function decodeCdr(schema: MessageSchema, cdr: Uint8Array): RosMessage {
  const layout = layoutOf(schema);
  if (layout.wide) throw new CdrError(schema.type, WIDE_STRINGS);
  return new CdrMessageReader(schema.type, cdr).struct(layout);
}

/** Whether messages of the type can't be read or written here, since wide strings are in them. */
export function hasWideStrings(schema: MessageSchema): boolean {
  return layoutOf(schema).wide;
}
