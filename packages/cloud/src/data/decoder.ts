/** From stored bytes to JSON, with the parsed definitions of the types last read kept. */
import { decodeCdr } from '@drover/shared/ros/cdr';
import { type MessageSchema, parseSchema } from '@drover/shared/ros/definitions';
import { toJson } from '@drover/shared/ros/to-json';
import type { Db } from '../db/store.js';
import { schemaText } from './store.js';

/** Parsed definitions kept; the one unused longest goes. */
const SCHEMAS_KEPT = 500;

/** A message as JSON, or why there is none. */
export type Decoded = { readonly value: unknown } | { readonly undecodable: string };

export class Decoder {
  readonly #db: Db;
  /** By key, the one used last at the end. What can't be parsed is kept as the reason. */
  readonly #schemas = new Map<number, MessageSchema | Error>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Never throws on what a robot has sent: bytes that are no message of their type are told as such. */
  async decode(schemaKey: number, cdr: Uint8Array): Promise<Decoded> {
    const schema = await this.#schema(schemaKey);
    if (schema instanceof Error) return { undecodable: schema.message };
    try {
      return { value: toJson(schema, decodeCdr(schema, cdr)) };
    } catch (error) {
      return { undecodable: error instanceof Error ? error.message : String(error) };
    }
  }

  async #schema(key: number): Promise<MessageSchema | Error> {
    const known = this.#schemas.get(key);
    if (known) {
      this.#schemas.delete(key);
      this.#schemas.set(key, known);
      return known;
    }
    const { type, text } = await schemaText(this.#db, key).executeTakeFirstOrThrow();
    const schema = parsed(type, text);
    this.#schemas.set(key, schema);
    const [oldest] = this.#schemas.keys();
    if (this.#schemas.size > SCHEMAS_KEPT && oldest !== undefined) this.#schemas.delete(oldest);
    return schema;
  }
}

function parsed(type: string, text: string): MessageSchema | Error {
  try {
    return parseSchema(type, text);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
