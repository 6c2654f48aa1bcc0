import fc from 'fast-check';
import type { MessageSchema } from './definitions.js';
import { type ElementLayout, type FieldLayout, layoutOf, type NumericKind, type StructLayout } from './layout.js';
import {
  INTEGER_RANGE,
  isIntegerKind,
  isWideIntegerKind,
  NUMBER_ARRAY,
  type NumberArray,
  WIDE_INTEGER_RANGE,
} from './numbers.js';
import type { RosMessage, RosValue } from './values.js';

/** Random messages of a type, each field over its whole range, for property tests. */
export function arbitraryMessage(schema: MessageSchema): fc.Arbitrary<RosMessage> {
  return struct(layoutOf(schema));
}

function struct(layout: StructLayout): fc.Arbitrary<RosMessage> {
  return fc.record(Object.fromEntries(layout.fields.map((field) => [field.name, fieldValue(field)])), {
    noNullPrototype: true,
  });
}

function fieldValue({ element, array }: FieldLayout): fc.Arbitrary<RosValue> {
  if (array === null) return single(element);
  const minLength = array.form === 'fixed' ? array.length : 0;
  const maxLength = array.form === 'fixed' ? array.length : array.form === 'bounded' ? array.lengthMax : 5;
  const list = fc.array(single(element), { minLength, maxLength });
  return isNumeric(element) ? list.map((values) => numberArray(element.kind, values)) : list;
}

function single(element: ElementLayout): fc.Arbitrary<RosValue> {
  switch (element.kind) {
    case 'struct':
      return struct(element.struct);
    case 'bool':
      return fc.boolean();
    case 'string':
    case 'wstring':
      return fc
        .string({ unit: 'binary', maxLength: element.lengthMax === null ? 12 : Math.floor(element.lengthMax / 4) })
        .map((text) => (element.kind === 'string' ? text.replaceAll('\0', '') : text));
    default:
      return number(element.kind);
  }
}

function number(kind: NumericKind): fc.Arbitrary<number | bigint> {
  if (isWideIntegerKind(kind)) {
    const [min, max] = WIDE_INTEGER_RANGE[kind];
    return fc.bigInt({ min, max });
  }
  if (isIntegerKind(kind)) {
    const [min, max] = INTEGER_RANGE[kind];
    return fc.integer({ min, max });
  }
  return kind === 'float32' ? fc.float() : fc.double();
}

function numberArray(kind: NumericKind, values: RosValue[]): NumberArray {
  const numbers: NumberArray = new NUMBER_ARRAY[kind](values.length);
  values.forEach((value, index) => {
    numbers[index] = value as number & bigint;
  });
  return numbers;
}

function isNumeric(element: ElementLayout): element is { kind: NumericKind } {
  return element.kind in NUMBER_ARRAY;
}
