import type { DefaultValue, MessageDefinition, MessageDefinitionField } from '@foxglove/message-definition';
import { DefinitionError } from './definition-error.js';

/**
 * A message type compiled for the value rules and the codec: references resolved, bounds checked once. Owns no data;
 * compiled layouts are kept for as long as their schema lives.
 */
export interface StructLayout {
  /** `pkg/Name`. */
  readonly type: string;
  readonly fields: readonly FieldLayout[];
  readonly byName: ReadonlyMap<string, FieldLayout>;
  /** The least CDR bytes a value takes, alignment left out; at least 1. */
  readonly bytesMin: number;
  /** Structs in the smallest value, itself included. */
  readonly structsMin: number;
}

export interface FieldLayout {
  readonly name: string;
  readonly element: ElementLayout;
  /** Null for a single value. */
  readonly array: ArrayLayout | null;
  /** What the definition says an absent field holds, as its literal. */
  readonly defaultValue: DefaultValue;
}

export type ArrayLayout =
  | { readonly form: 'fixed'; readonly length: number }
  | { readonly form: 'bounded'; readonly lengthMax: number }
  | { readonly form: 'unbounded' };

export type IntegerKind = 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32';
export type WideIntegerKind = 'int64' | 'uint64';
export type FloatKind = 'float32' | 'float64';
export type NumericKind = IntegerKind | WideIntegerKind | FloatKind;

export type ElementLayout =
  | { readonly kind: 'struct'; readonly struct: StructLayout }
  | { readonly kind: 'string' | 'wstring'; readonly lengthMax: number | null }
  | { readonly kind: 'bool' }
  | { readonly kind: NumericKind };

/** Bytes of one number in CDR, which is also its alignment (CDR version 1). */
export const NUMBER_BYTES: Readonly<Record<NumericKind, number>> = {
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float32: 4,
  float64: 8,
};

/** A type whose smallest message takes more is refused: a few lines of definition could else ask for any memory. */
const MESSAGE_BYTES_MIN_MAX = 16 * 1024 * 1024;
/** The same for the objects that the smallest message is made of. */
const MESSAGE_STRUCTS_MIN_MAX = 200_000;
/** Nesting of definitions. The deepest of ROS's own has 6. */
const DEPTH_MAX = 50;

const layouts = new WeakMap<object, StructLayout>();

/**
 * The compiled layout of a schema, compiled at its first use.
 * @throws DefinitionError
 */
export function layoutOf(schema: { type: string; definitions: readonly MessageDefinition[] }): StructLayout {
  const known = layouts.get(schema);
  if (known) return known;
  const layout = compileLayout(schema.type, schema.definitions);
  layouts.set(schema, layout);
  return layout;
}

/**
 * Resolves a message's definitions, its own first, into a layout.
 * @throws DefinitionError for a missing or twice defined type, a type that contains itself, or one beyond the bounds.
 */
export function compileLayout(type: string, definitions: readonly MessageDefinition[]): StructLayout {
  const [root] = definitions;
  if (root === undefined) throw new DefinitionError(type, 'it is empty');
  const byName = new Map<string, MessageDefinition>();
  for (const definition of definitions) {
    const name = definition.name ?? '';
    if (byName.has(name)) throw new DefinitionError(type, `${name} is defined twice`);
    byName.set(name, definition);
  }
  const compiled = new Map<string, StructLayout>();
  const underWay: string[] = [];

  const compileStruct = (definition: MessageDefinition): StructLayout => {
    const name = definition.name ?? '';
    const known = compiled.get(name);
    if (known) return known;
    if (underWay.includes(name)) throw new DefinitionError(type, `${name} contains itself`);
    if (underWay.length >= DEPTH_MAX) throw new DefinitionError(type, `it is nested more than ${DEPTH_MAX} deep`);
    underWay.push(name);
    const fields = definition.definitions.filter((field) => field.isConstant !== true).map(compileField);
    underWay.pop();
    const struct = makeStruct(type, name, fields);
    compiled.set(name, struct);
    return struct;
  };

  const compileField = (field: MessageDefinitionField): FieldLayout => ({
    name: field.name,
    element: compileElement(field),
    array: arrayLayout(field),
    defaultValue: field.defaultValue,
  });

  const compileElement = (field: MessageDefinitionField): ElementLayout => {
    if (field.type === 'time') return { kind: 'struct', struct: TIME };
    if (field.type === 'duration') return { kind: 'struct', struct: DURATION };
    if (field.type === 'bool') return { kind: 'bool' };
    if (field.type === 'string' || field.type === 'wstring') {
      return { kind: field.type, lengthMax: field.upperBound ?? null };
    }
    if (isNumericKind(field.type)) return { kind: field.type };
    const nested = byName.get(field.type);
    if (nested === undefined) throw new DefinitionError(type, `it contains ${field.type}, which is not defined`);
    return { kind: 'struct', struct: compileStruct(nested) };
  };

  return compileStruct(root);
}

function makeStruct(type: string, name: string, fields: readonly FieldLayout[]): StructLayout {
  const byName = new Map(fields.map((field) => [field.name, field]));
  if (byName.size < fields.length) throw new DefinitionError(type, `${name} has two fields of one name`);
  let bytesMin = 0;
  let structsMin = 1;
  for (const { element, array } of fields) {
    const count = array === null ? 1 : array.form === 'fixed' ? array.length : 0;
    bytesMin += (array === null || array.form === 'fixed' ? 0 : 4) + count * elementBytesMin(element);
    if (element.kind === 'struct') structsMin += count * element.struct.structsMin;
  }
  if (bytesMin > MESSAGE_BYTES_MIN_MAX || structsMin > MESSAGE_STRUCTS_MIN_MAX) {
    throw new DefinitionError(type, `even an empty ${name} would take ${bytesMin} bytes in ${structsMin} parts`);
  }
  // An empty struct has one byte in CDR, since IDL knows no empty ones.
  return { type: name, fields, byName, bytesMin: Math.max(bytesMin, 1), structsMin };
}

/** The least CDR bytes of one value, alignment left out. */
export function elementBytesMin(element: ElementLayout): number {
  switch (element.kind) {
    case 'struct':
      return element.struct.bytesMin;
    case 'string':
    case 'wstring':
      return 4;
    case 'bool':
      return 1;
    default:
      return NUMBER_BYTES[element.kind];
  }
}

function arrayLayout(field: MessageDefinitionField): ArrayLayout | null {
  if (field.isArray !== true) return null;
  if (field.arrayLength !== undefined) return { form: 'fixed', length: field.arrayLength };
  if (field.arrayUpperBound !== undefined) return { form: 'bounded', lengthMax: field.arrayUpperBound };
  return { form: 'unbounded' };
}

export function isNumericKind(type: string): type is NumericKind {
  return Object.hasOwn(NUMBER_BYTES, type);
}

// builtin_interfaces/Time and Duration. The parser makes them primitives, as they were in ROS 1; in ROS 2 they are
// messages like any other.
const secAndNanosec: readonly FieldLayout[] = [
  { name: 'sec', element: { kind: 'int32' }, array: null, defaultValue: undefined },
  { name: 'nanosec', element: { kind: 'uint32' }, array: null, defaultValue: undefined },
];
const TIME = makeStruct('builtin_interfaces/Time', 'builtin_interfaces/Time', secAndNanosec);
const DURATION = makeStruct('builtin_interfaces/Duration', 'builtin_interfaces/Duration', secAndNanosec);
