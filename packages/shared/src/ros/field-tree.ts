import { convertMessage } from './conversion.js';
import type { MessageSchema } from './definitions.js';
import { type ElementLayout, type FieldLayout, layoutOf, type StructLayout } from './layout.js';
import { structToJson } from './to-json.js';

/** A field of a message with what it contains, for those who draw forms. */
export interface FieldTree {
  readonly name: string;
  /** `float64`, `string`, …, or the message it is: `geometry_msgs/msg/Vector3`. (byte and char are uint8.) */
  readonly type: string;
  /** Null for a single value. `length`: exactly so many; `length_max`: at most; both null: any number. */
  readonly array: { readonly length: number | null; readonly length_max: number | null } | null;
  /** Of a string: at most so many bytes (of a wstring: 16-bit characters); null: any number. */
  readonly string_length_max: number | null;
  /** The default that the definition states, as JSON; null where it states none and zero, "" or [] is meant. */
  readonly default: unknown;
  /** Of a message its fields; null of anything else, and where the tree would have over FIELD_TREE_MAX fields. */
  readonly fields: readonly FieldTree[] | null;
}

/** A type may contain another many times over, on each of its levels: past so many fields in all no more are unfolded. */
export const FIELD_TREE_MAX = 5_000;

/** The fields of a message, depth first in the order of the definition. */
export function fieldTreeOf(schema: MessageSchema): readonly FieldTree[] {
  const layout = layoutOf(schema);
  return new Trees(layout.fields.length).fields(layout);
}

class Trees {
  #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  fields(layout: StructLayout): FieldTree[] {
    return layout.fields.map((field) => ({
      name: field.name,
      type: typeWord(field.element),
      array: arrayWords(field),
      string_length_max: 'lengthMax' in field.element ? field.element.lengthMax : null,
      default: field.defaultValue === undefined ? null : statedDefault(layout, field),
      fields: field.element.kind === 'struct' ? this.#nested(field.element.struct) : null,
    }));
  }

  #nested(struct: StructLayout): FieldTree[] | null {
    if (this.#count + struct.fields.length > FIELD_TREE_MAX) return null;
    this.#count += struct.fields.length;
    return this.fields(struct);
  }
}

/** Of this field alone: what stands beside it may be as large as a message may be, and each of thousands of types so. */
function statedDefault(layout: StructLayout, field: FieldLayout): unknown {
  const alone = { ...layout, fields: [field], byName: new Map([[field.name, field]]) };
  return structToJson(alone, convertMessage(alone, {}, 'default'))[field.name];
}

function arrayWords({ array }: FieldLayout): FieldTree['array'] {
  if (array === null) return null;
  return {
    length: array.form === 'fixed' ? array.length : null,
    length_max: array.form === 'bounded' ? array.lengthMax : null,
  };
}

function typeWord(element: ElementLayout): string {
  return element.kind === 'struct' ? element.struct.type.replace('/', '/msg/') : element.kind;
}
