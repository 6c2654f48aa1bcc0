import type { MessageSchema } from './definitions.js';
import type { RosMessage } from './values.js';

/** Bytes that are no message of the type, or a message that is none. */
export class CdrError extends Error {
  override readonly name = 'CdrError';
}

/**
 * A message as CDR with its 4-byte encapsulation header (plain, little endian).
 * @throws CdrError where a field is missing or of a wrong kind, or the type has wide strings.
 */
export function encodeCdr(schema: MessageSchema, message: RosMessage): Uint8Array {
  throw new CdrError(`not written yet ${schema} ${message}`);
}

/**
 * The message in CDR bytes. What it returns shares no memory with them.
 * @throws CdrError where the bytes are cut, corrupt or of another type, or the type has wide strings.
 */
export function decodeCdr(schema: MessageSchema, cdr: Uint8Array): RosMessage {
  throw new CdrError(`not written yet ${schema} ${cdr}`);
}
