import type { MessageSchema } from './definitions.js';
import { type ElementLayout, type FieldLayout, layoutOf, type NumericKind, type StructLayout } from './layout.js';
import { INTEGER_RANGE, isFloatKind, isIntegerKind, WIDE_INTEGER_RANGE } from './numbers.js';

/**
 * A JSON Schema (2020-12) of what fromJson takes and toJson gives for a message: a form can be drawn from it, and a payload
 * checked before it is sent. Where JSON Schema can't say a bound exactly (the bytes of a string in UTF-8, the last
 * digits of a 64-bit integer) it lets more through: the robot has the last word.
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A number of float32 beyond this would be infinite; halfway from the largest finite one to the next power of two. */
const FLOAT32_END = 3.4028235677973366e38;

/** ROS would cut a string at a NUL, though not a wide one. */
const NO_NUL = '^[^\\u0000]*$';
const BASE64 = '^[A-Za-z0-9+/]*={0,2}$';

export function jsonSchemaOf(schema: MessageSchema): JsonSchema {
  const layout = layoutOf(schema);
  const definitions = new Map<string, JsonSchema>();
  const root = structSchema(layout, definitions);
  return {
    $schema: DIALECT,
    title: schema.type,
    ...root,
    ...(definitions.size > 0 ? { $defs: Object.fromEntries(definitions) } : {}),
  };
}

function structSchema(layout: StructLayout, definitions: Map<string, JsonSchema>): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(layout.fields.map((field) => [field.name, fieldSchema(field, definitions)])),
    additionalProperties: false,
  };
}

function fieldSchema({ element, array }: FieldLayout, definitions: Map<string, JsonSchema>): JsonSchema {
  const one = elementSchema(element, definitions);
  if (array === null) return one;
  const [min, max] = array.form === 'fixed' ? [array.length, array.length] : [0, lengthMax(array)];
  const list = { type: 'array', items: one, ...bounds('Items', min, max) };
  if (element.kind !== 'uint8') return list;
  // Four characters for three bytes, padded or not.
  const text = bounds('Length', Math.ceil((min * 4) / 3), max === undefined ? undefined : Math.ceil(max / 3) * 4);
  return { anyOf: [{ type: 'string', contentEncoding: 'base64', pattern: BASE64, ...text }, list] };
}

function lengthMax(array: NonNullable<FieldLayout['array']>): number | undefined {
  return array.form === 'bounded' ? array.lengthMax : undefined;
}

function bounds(of: 'Items' | 'Length', min: number, max: number | undefined): JsonSchema {
  return { ...(min > 0 ? { [`min${of}`]: min } : {}), ...(max === undefined ? {} : { [`max${of}`]: max }) };
}

function elementSchema(element: ElementLayout, definitions: Map<string, JsonSchema>): JsonSchema {
  switch (element.kind) {
    case 'struct':
      return reference(element.struct, definitions);
    case 'string':
    case 'wstring': {
      const max = element.lengthMax ?? undefined;
      const pattern = element.kind === 'string' ? { pattern: NO_NUL } : {};
      return { type: 'string', ...pattern, ...bounds('Length', 0, max) };
    }
    case 'bool':
      return { type: 'boolean' };
    default:
      return numberSchema(element.kind);
  }
}

/** Each message once, however often it is contained. */
function reference(struct: StructLayout, definitions: Map<string, JsonSchema>): JsonSchema {
  const key = struct.type.replace('/', '.');
  if (!definitions.has(key)) {
    // Its place first: what it contains comes after it.
    definitions.set(key, {});
    definitions.set(key, structSchema(struct, definitions));
  }
  return { $ref: `#/$defs/${key}` };
}

function numberSchema(kind: NumericKind): JsonSchema {
  if (isFloatKind(kind)) {
    const range = kind === 'float32' ? { exclusiveMinimum: -FLOAT32_END, exclusiveMaximum: FLOAT32_END } : {};
    return { anyOf: [{ type: 'number', ...range }, { enum: ['NaN', 'Infinity', '-Infinity'] }] };
  }
  if (isIntegerKind(kind)) {
    const [minimum, maximum] = INTEGER_RANGE[kind];
    return { type: 'integer', minimum, maximum };
  }
  const [min, max] = WIDE_INTEGER_RANGE[kind];
  const minimum = min < 0n ? Number.MIN_SAFE_INTEGER : 0;
  return {
    description: `a whole number from ${min} to ${max}; beyond 2^53 as a decimal string`,
    anyOf: [
      { type: 'integer', minimum, maximum: Number.MAX_SAFE_INTEGER },
      { type: 'string', pattern: min < 0n ? '^-?[0-9]{1,20}$' : '^(-?0+|[0-9]{1,20})$' },
    ],
  };
}
