import { convertNumber, NumberMisfit } from './conversion-numbers.js';
import { describeValue, nearestName } from './describe-value.js';
import type { ElementLayout, FieldLayout, NumericKind, StructLayout } from './layout.js';
import { elementBytesMin } from './layout.js';
import { isNumberArray, isWideIntegerKind, NUMBER_ARRAY, type NumberArray } from './numbers.js';
import { PAYLOAD_ISSUES_MAX, PayloadError, type PayloadIssue } from './payload-error.js';
import type { RosMessage, RosValue } from './values.js';

/**
 * A value (JSON, or a message made in code) checked against its type, field by field, and turned into the message ROS
 * will hold. Follows the type, never the value, so a deeply nested or hostile value costs nothing; stops at
 * PAYLOAD_ISSUES_MAX issues, and where what the defaults would add is beyond the bounds below.
 */

/** A value that makes a message of more is refused: `[{}, {}, …]` could else ask for any memory by its defaults. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;
const MESSAGE_STRUCTS_MAX = 2_000_000;

/**
 * @param path what the value is called in errors.
 * @throws PayloadError
 */
export function convertMessage(layout: StructLayout, value: unknown, path: string): RosMessage {
  const conversion = new Conversion(path);
  const message = conversion.struct(layout, value);
  conversion.end();
  return message;
}

class Conversion {
  readonly #path: (string | number)[];
  readonly #issues: PayloadIssue[] = [];
  #bytes = 0;
  #structs = 0;

  constructor(path: string) {
    this.#path = [path];
  }

  end(): void {
    if (this.#issues.length > 0) throw new PayloadError(this.#issues);
  }

  struct(layout: StructLayout, value: unknown): RosMessage {
    const message: RosMessage = {};
    if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) {
      this.#issue(`an object (${layout.type})`, describeValue(value));
      return message;
    }
    const given = new Map(Object.entries(value));
    for (const field of layout.fields) {
      const fieldValue = given.get(field.name);
      this.#path.push(field.name);
      message[field.name] = fieldValue === undefined ? this.#default(field) : this.#field(field, fieldValue);
      this.#path.pop();
      given.delete(field.name);
    }
    for (const name of given.keys()) this.#unknownField(layout, name);
    return message;
  }

  #unknownField(layout: StructLayout, name: string): void {
    const names = [...layout.byName.keys()];
    const nearest = nearestName(name, names);
    this.#path.push(name.slice(0, 80));
    const hint = nearest === null ? '' : `; did you mean ${nearest}?`;
    const known = names.length === 0 ? 'no fields' : names.slice(0, 20).join(', ') + (names.length > 20 ? ', …' : '');
    this.#issue(`a field of ${layout.type} (${known}${hint})`, 'an unknown field');
    this.#path.pop();
  }

  #default(field: FieldLayout): RosValue {
    if (field.defaultValue !== undefined) return this.#field(field, field.defaultValue);
    if (field.array === null) return this.#zero(field.element);
    return this.#zeroList(field.element, field.array.form === 'fixed' ? field.array.length : 0);
  }

  #zero(element: ElementLayout): RosValue {
    switch (element.kind) {
      case 'struct':
        return this.struct(element.struct, {});
      case 'string':
      case 'wstring':
        return '';
      case 'bool':
        return false;
      default:
        return isWideIntegerKind(element.kind) ? 0n : 0;
    }
  }

  #zeroList(element: ElementLayout, length: number): RosValue {
    switch (element.kind) {
      case 'struct':
      case 'string':
      case 'wstring':
      case 'bool':
        return Array.from({ length }, () => this.#zero(element));
      default:
        return new NUMBER_ARRAY[element.kind](length);
    }
  }

  #field(field: FieldLayout, value: unknown): RosValue {
    const { element, array } = field;
    if (array === null) return this.#element(element, value);
    if (element.kind === 'uint8' && typeof value === 'string') return this.#base64(field, value);
    if (!Array.isArray(value) && !isNumberArray(value)) {
      const form = element.kind === 'uint8' ? 'base64 or a list of numbers' : 'a list';
      this.#issue(`${form}${lengthWords(field)}`, describeValue(value));
      return [];
    }
    if (!this.#checkLength(field, value.length)) return [];
    this.#afford(field, value.length);
    switch (element.kind) {
      case 'struct':
      case 'string':
      case 'wstring':
      case 'bool':
        return Array.from(value, (entry, index) => this.#at(index, () => this.#element(element, entry)));
      default:
        return this.#numbers(element.kind, value);
    }
  }

  #numbers(kind: NumericKind, value: readonly unknown[] | NumberArray): RosValue {
    if (value instanceof NUMBER_ARRAY[kind]) return value;
    const numbers: NumberArray = new NUMBER_ARRAY[kind](value.length);
    for (let index = 0; index < value.length; index += 1) {
      const number = convertNumber(kind, value[index]);
      if (number instanceof NumberMisfit)
        this.#at(index, () => this.#issue(number.expected, describeValue(value[index])));
      else numbers[index] = number;
    }
    return numbers;
  }

  #base64(field: FieldLayout, text: string): RosValue {
    const bytes = decodeBase64(text);
    if (bytes === null) {
      this.#issue(`base64 or a list of numbers${lengthWords(field)}`, describeValue(text));
      return [];
    }
    return this.#checkLength(field, bytes.length) ? bytes : [];
  }

  #element(element: ElementLayout, value: unknown): RosValue {
    switch (element.kind) {
      case 'struct':
        return this.struct(element.struct, value);
      case 'string':
      case 'wstring':
        return this.#string(element, value);
      case 'bool':
        if (typeof value === 'boolean') return value;
        this.#issue('true or false', describeValue(value));
        return false;
      default: {
        const number = convertNumber(element.kind, value);
        if (!(number instanceof NumberMisfit)) return number;
        this.#issue(number.expected, describeValue(value));
        return 0;
      }
    }
  }

  #string(element: { kind: 'string' | 'wstring'; lengthMax: number | null }, value: unknown): string {
    const { kind, lengthMax } = element;
    if (typeof value !== 'string') {
      this.#issue('a string', describeValue(value));
    } else if (kind === 'string' && value.includes('\0')) {
      this.#issue('a string without NUL characters, at which ROS would cut it', describeValue(value));
    } else if (/\p{Surrogate}/u.test(value)) {
      this.#issue('a string of whole Unicode characters', 'half of a surrogate pair');
    } else {
      // IDL counts a string's bound in its units: bytes, or 16-bit units for a wide one.
      const length = kind === 'string' ? Buffer.byteLength(value) : value.length;
      if (lengthMax === null || length <= lengthMax) return value;
      this.#issue(`a string of at most ${lengthMax} ${kind === 'string' ? 'bytes' : 'characters'}`, `one of ${length}`);
    }
    return '';
  }

  #checkLength(field: FieldLayout, length: number): boolean {
    const { array } = field;
    const fits =
      array === null ||
      array.form === 'unbounded' ||
      (array.form === 'fixed' ? length === array.length : length <= array.lengthMax);
    if (!fits) this.#issue(`a list${lengthWords(field)}`, `one of ${length}`);
    return fits;
  }

  /** Counts what a list is about to make. Fixed lists need none: they are within the type's own bounds. */
  #afford({ element, array }: FieldLayout, count: number): void {
    if (array?.form === 'fixed') return;
    this.#bytes += elementBytesMin(element) * count;
    if (element.kind === 'struct') this.#structs += element.struct.structsMin * count;
    if (this.#bytes <= MESSAGE_BYTES_MAX && this.#structs <= MESSAGE_STRUCTS_MAX) return;
    this.#issue(`a message of at most ${MESSAGE_BYTES_MAX} bytes and ${MESSAGE_STRUCTS_MAX} parts`, 'a larger one');
    throw new PayloadError(this.#issues, true);
  }

  #at<T>(index: number, work: () => T): T {
    this.#path.push(index);
    const result = work();
    this.#path.pop();
    return result;
  }

  #issue(expected: string, got: string): void {
    if (this.#issues.length >= PAYLOAD_ISSUES_MAX) throw new PayloadError(this.#issues, true);
    this.#issues.push({ path: renderPath(this.#path), expected, got });
  }
}

function renderPath(path: readonly (string | number)[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`)).join('');
}

function lengthWords({ array, element }: FieldLayout): string {
  if (array === null || array.form === 'unbounded') return '';
  const unit = element.kind === 'uint8' ? 'bytes' : 'values';
  return array.form === 'fixed' ? ` of ${array.length} ${unit}` : ` of at most ${array.lengthMax} ${unit}`;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The bytes of standard base64, padded or not; null where the text is none. (Buffer.from skips what it can't read.) */
function decodeBase64(text: string): Uint8Array | null {
  const padded = text.endsWith('=');
  const digits = padded ? text.replace(/=+$/, '').length : text.length;
  if (!BASE64.test(text) || digits % 4 === 1 || (padded && text.length % 4 !== 0)) return null;
  return new Uint8Array(Buffer.from(text, 'base64'));
}
