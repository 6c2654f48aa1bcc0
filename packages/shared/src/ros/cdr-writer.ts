import { CdrError } from './cdr-error.js';
import { describeValue } from './describe-value.js';
import {
  type ArrayLayout,
  type ElementLayout,
  type FieldLayout,
  NUMBER_BYTES,
  type NumericKind,
  type StructLayout,
} from './layout.js';
import {
  INTEGER_RANGE,
  isIntegerKind,
  isNumberArray,
  isWideIntegerKind,
  NUMBER_ARRAY,
  WIDE_INTEGER_RANGE,
} from './numbers.js';
import type { RosMessage, RosValue } from './values.js';

/** A larger message is refused before it is built. */
const CDR_BYTES_MAX = 256 * 1024 * 1024;

const encoder = new TextEncoder();
const hostIsLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/**
 * Writes one message as plain CDR version 1, little endian. Strict: what is not exactly of the type is an error, since
 * a value made to fit would move a robot otherwise than asked.
 */
export class CdrMessageWriter {
  readonly #type: string;
  #bytes: Uint8Array;
  #view: DataView;
  /** Next byte; alignment counts from the end of the 4-byte header. */
  #offset = 4;
  #field = '';

  constructor(type: string, bytesExpected: number) {
    this.#type = type;
    this.#bytes = new Uint8Array(4 + bytesExpected);
    this.#view = new DataView(this.#bytes.buffer);
    this.#bytes[1] = 1; // plain CDR, little endian; the other three are 0
  }

  /** The bytes written, in memory of their own. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#offset);
  }

  struct(layout: StructLayout, message: RosValue | undefined): void {
    if (!isMessage(message)) throw this.#misfit(`an object (${layout.type})`, message);
    if (layout.fields.length === 0) {
      this.#reserve(1, 1);
      this.#bytes[this.#offset] = 0;
      this.#offset += 1;
    }
    for (const field of layout.fields) {
      this.#field = field.name;
      const value = message[field.name];
      if (field.array === null) this.#element(field.element, value);
      else this.#list(field, field.array, value);
    }
  }

  #list({ element }: FieldLayout, array: ArrayLayout, value: RosValue | undefined): void {
    if (!Array.isArray(value) && !isNumberArray(value)) throw this.#misfit('a list', value);
    const { length } = value;
    if (array.form === 'fixed' && length !== array.length) {
      throw this.#misfit(`${array.length} values`, value);
    }
    if (array.form === 'bounded' && length > array.lengthMax) {
      throw this.#misfit(`at most ${array.lengthMax} values`, value);
    }
    if (array.form !== 'fixed') this.#uint32(length);
    if (isNumberArray(value) && element.kind in NUMBER_BYTES && hostIsLittleEndian) {
      const kind = element.kind as NumericKind;
      if (!(value instanceof NUMBER_ARRAY[kind])) throw this.#misfit(`a list of ${kind}`, value);
      // An empty list is not aligned: what follows it takes the place.
      if (length > 0) {
        this.#reserve(value.byteLength, NUMBER_BYTES[kind]);
        this.#bytes.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), this.#offset);
        this.#offset += value.byteLength;
      }
      return;
    }
    for (const entry of value) this.#element(element, entry);
  }

  #element(element: ElementLayout, value: RosValue | undefined): void {
    switch (element.kind) {
      case 'struct':
        this.struct(element.struct, value);
        break;
      case 'string':
        this.#string(value, element.lengthMax);
        break;
      case 'wstring':
        this.#wideString(value, element.lengthMax);
        break;
      case 'bool':
        if (typeof value !== 'boolean') throw this.#misfit('true or false', value);
        this.#reserve(1, 1);
        this.#view.setUint8(this.#offset, value ? 1 : 0);
        this.#offset += 1;
        break;
      default:
        this.#number(element.kind, value);
    }
  }

  #number(kind: NumericKind, value: RosValue | undefined): void {
    const size = NUMBER_BYTES[kind];
    this.#reserve(size, size);
    if (isWideIntegerKind(kind)) {
      const [min, max] = WIDE_INTEGER_RANGE[kind];
      if (typeof value !== 'bigint' || value < min || value > max) throw this.#misfit(`a bigint of ${kind}`, value);
      // The same bits: a negative number is written as its two's complement.
      this.#view.setBigInt64(this.#offset, BigInt.asIntN(64, value), true);
    } else {
      if (typeof value !== 'number') throw this.#misfit(`a number of ${kind}`, value);
      if (isIntegerKind(kind)) {
        const [min, max] = INTEGER_RANGE[kind];
        if (!Number.isInteger(value) || value < min || value > max) throw this.#misfit(`a number of ${kind}`, value);
        if (size === 1) this.#view.setInt8(this.#offset, value);
        else if (size === 2) this.#view.setInt16(this.#offset, value, true);
        else this.#view.setInt32(this.#offset, value, true);
      } else if (kind === 'float32') this.#view.setFloat32(this.#offset, value, true);
      else this.#view.setFloat64(this.#offset, value, true);
    }
    this.#offset += size;
  }

  #string(value: RosValue | undefined, lengthMax: number | null): void {
    if (typeof value !== 'string' || value.includes('\0')) throw this.#misfit('a string without NUL', value);
    this.#reserve(4 + value.length * 3 + 1, 4);
    const { written } = encoder.encodeInto(value, this.#bytes.subarray(this.#offset + 4));
    if (lengthMax !== null && written > lengthMax) throw this.#misfit(`a string of at most ${lengthMax} bytes`, value);
    this.#view.setUint32(this.#offset, written + 1, true);
    this.#offset += 4 + written;
    this.#bytes[this.#offset] = 0;
    this.#offset += 1;
  }

  /** Its length in UTF-16 units, then four bytes for each; no NUL at its end, so that it may hold some. */
  #wideString(value: RosValue | undefined, lengthMax: number | null): void {
    if (typeof value !== 'string') throw this.#misfit('a string', value);
    if (lengthMax !== null && value.length > lengthMax) {
      throw this.#misfit(`a wide string of at most ${lengthMax} characters`, value);
    }
    this.#reserve(4 + value.length * 4, 4);
    this.#view.setUint32(this.#offset, value.length, true);
    this.#offset += 4;
    for (let index = 0; index < value.length; index += 1) {
      this.#view.setUint32(this.#offset, value.charCodeAt(index), true);
      this.#offset += 4;
    }
  }

  #uint32(value: number): void {
    this.#reserve(4, 4);
    this.#view.setUint32(this.#offset, value, true);
    this.#offset += 4;
  }

  /** Aligns and makes room. The memory between is 0. */
  #reserve(size: number, alignment: number): void {
    const remainder = (this.#offset - 4) % alignment;
    const start = remainder === 0 ? this.#offset : this.#offset + alignment - remainder;
    const end = start + size;
    if (end > this.#bytes.length) {
      if (end > CDR_BYTES_MAX) throw new CdrError(this.#type, `a message of more than ${CDR_BYTES_MAX} bytes`);
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, this.#offset));
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    } else if (start > this.#offset) {
      this.#bytes.fill(0, this.#offset, start); // encodeInto may have written past a string's end
    }
    this.#offset = start;
  }

  #misfit(expected: string, value: unknown): CdrError {
    return new CdrError(this.#type, `${this.#field}: expected ${expected}, got ${describeValue(value)}`);
  }
}

function isMessage(value: RosValue | undefined): value is RosMessage {
  return typeof value === 'object' && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
