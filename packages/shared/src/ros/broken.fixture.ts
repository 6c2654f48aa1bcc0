import fc from 'fast-check';
import { arbitraryMessage } from './arbitrary.fixture.js';
import type { MessageSchema } from './definitions.js';
import { type ElementLayout, type FieldLayout, layoutOf, type StructLayout } from './layout.js';
import { INTEGER_RANGE, isFloatKind, isIntegerKind, WIDE_INTEGER_RANGE } from './numbers.js';
import { toJson } from './to-json.js';

/** A payload with one thing wrong in it, and the path of that. */
export interface BrokenPayload {
  readonly json: unknown;
  readonly path: string;
}

/** A place in a payload and what does not fit there. */
interface Fault {
  readonly path: string;
  readonly value: unknown;
  put(): void;
}

/** Random payloads of a type, each right but for one field: of a wrong kind, out of its bounds, or unknown. */
export function arbitraryBrokenPayload(schema: MessageSchema): fc.Arbitrary<BrokenPayload> {
  return fc.tuple(arbitraryMessage(schema), fc.nat()).map(([message, choice]) => {
    const json = structuredClone(toJson(schema, message)) as Record<string, unknown>;
    const faults = structFaults(layoutOf(schema), json, 'payload');
    const fault = faults[choice % faults.length];
    if (fault === undefined) throw new TypeError('every payload can take an unknown field');
    fault.put();
    return { json, path: fault.path };
  });
}

function structFaults(layout: StructLayout, json: Record<string, unknown>, path: string): Fault[] {
  const unknown = fault(`${path}.no_such_field`, json, 'no_such_field', 1);
  return [unknown, ...layout.fields.flatMap((field) => fieldFaults(field, json, `${path}.${field.name}`))];
}

function fieldFaults(field: FieldLayout, json: Record<string, unknown>, path: string): Fault[] {
  const { element, array, name } = field;
  if (array === null) return elementFaults(element, json, name, path);
  const faults = [5, null, {}, true].map((value) => fault(path, json, name, value));
  const value = json[name];
  if (element.kind === 'uint8') faults.push(fault(path, json, name, '%%%'));
  else faults.push(fault(path, json, name, 'text'));
  const entries = Array.isArray(value) ? value : [...Buffer.from(String(value), 'base64')];
  if (array.form === 'fixed') {
    faults.push(fault(path, json, name, entries.slice(1)), fault(path, json, name, [...entries, entries[0]]));
  }
  if (array.form === 'bounded') {
    faults.push(
      fault(
        path,
        json,
        name,
        Array.from({ length: array.lengthMax + 1 }, () => entries[0] ?? 0),
      ),
    );
  }
  if (Array.isArray(value)) {
    for (const index of value.keys()) faults.push(...elementFaults(element, value, index, `${path}[${index}]`));
  } else if (entries.length > 0) {
    faults.push(fault(`${path}[0]`, json, name, [256, ...entries.slice(1)]));
  }
  return faults;
}

function elementFaults<Key extends string | number>(
  element: ElementLayout,
  holder: Record<Key, unknown>,
  key: Key,
  path: string,
): Fault[] {
  const faults = misfits(element).map((value) => fault(path, holder, key, value));
  const value = holder[key];
  if (element.kind !== 'struct') return faults;
  return [...faults, ...structFaults(element.struct, value as Record<string, unknown>, path)];
}

function misfits(element: ElementLayout): unknown[] {
  switch (element.kind) {
    case 'struct':
      return [5, 'text', null, [], true];
    case 'bool':
      return ['true', 0, 1, null, {}];
    case 'string':
    case 'wstring': {
      const beyond = element.lengthMax === null ? [] : ['x'.repeat(element.lengthMax + 1)];
      return [5, null, false, {}, '\ud800', ...(element.kind === 'string' ? ['a\0b'] : []), ...beyond];
    }
    default:
      if (isFloatKind(element.kind))
        return ['fast', '1.5', null, true, {}, ...(element.kind === 'float32' ? [1e39] : [])];
      if (isIntegerKind(element.kind)) {
        const [min, max] = INTEGER_RANGE[element.kind];
        return [min - 1, max + 1, 0.5, '7', 'NaN', null, true, []];
      }
      return [
        ...WIDE_INTEGER_RANGE[element.kind].map((edge, end) => String(edge + (end === 0 ? -1n : 1n))),
        2 ** 53,
        0.5,
        'x',
        null,
      ];
  }
}

function fault<Key extends string | number>(
  path: string,
  holder: Record<Key, unknown>,
  key: Key,
  value: unknown,
): Fault {
  return {
    path,
    value,
    put: () => {
      holder[key] = value;
    },
  };
}
