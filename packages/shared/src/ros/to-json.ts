import type { MessageSchema } from './definitions.js';
import { type ElementLayout, type FieldLayout, layoutOf, type NumericKind, type StructLayout } from './layout.js';
import { isFloatKind, isNumberArray, isWideIntegerKind, type NumberArray } from './numbers.js';
import type { RosMessage, RosValue } from './values.js';

/**
 * A message as JSON that `fromJson` takes back as the same message: 64-bit integers beyond 2^53 as decimal strings, NaN
 * and infinities as strings, byte[], char[] and uint8[] as base64. A field that the message lacks is left out.
 */
export function toJson(schema: MessageSchema, message: RosMessage): unknown {
  return structToJson(layoutOf(schema), message);
}

export function structToJson(layout: StructLayout, message: RosMessage): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const field of layout.fields) {
    const value = message[field.name];
    if (value !== undefined) json[field.name] = fieldToJson(field, value);
  }
  return json;
}

function fieldToJson({ element, array }: FieldLayout, value: RosValue): unknown {
  if (array === null) return elementToJson(element, value);
  if (element.kind === 'uint8') return base64(value);
  if (isNumberArray(value)) return numbersToJson(value);
  return Array.isArray(value) ? value.map((entry) => elementToJson(element, entry)) : value;
}

function elementToJson(element: ElementLayout, value: RosValue): unknown {
  switch (element.kind) {
    case 'struct':
      return isMessage(value) ? structToJson(element.struct, value) : value;
    case 'string':
    case 'wstring':
    case 'bool':
      return value;
    default:
      return numberToJson(element.kind, value);
  }
}

function numberToJson(kind: NumericKind, value: RosValue): unknown {
  if (isWideIntegerKind(kind)) return typeof value === 'bigint' ? wideToJson(value) : value;
  return isFloatKind(kind) && typeof value === 'number' ? floatToJson(value) : value;
}

function numbersToJson(values: NumberArray): unknown[] {
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) return Array.from(values, wideToJson);
  if (values instanceof Float32Array || values instanceof Float64Array) return Array.from(values, floatToJson);
  return Array.from(values);
}

function wideToJson(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/** A number, or the word that stands for one JSON can't write ("NaN", "Infinity", "-Infinity"). */
function floatToJson(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

function base64(value: RosValue): unknown {
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  return Array.isArray(value) ? Buffer.from(value.map(Number)).toString('base64') : value;
}

function isMessage(value: RosValue): value is RosMessage {
  return typeof value === 'object' && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
