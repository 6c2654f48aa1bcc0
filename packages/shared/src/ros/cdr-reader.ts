import { CdrError } from './cdr-error.js';
import {
  type ArrayLayout,
  type ElementLayout,
  elementBytesMin,
  NUMBER_BYTES,
  type NumericKind,
  type StructLayout,
} from './layout.js';
import { NUMBER_ARRAY, type NumberArray } from './numbers.js';
import type { RosMessage, RosValue } from './values.js';

/** A message of more objects is refused, so that a corrupt length can't ask for any memory. */
const STRUCTS_MAX = 2_000_000;

/** Encapsulation kinds that are plain: CDR version 1, and version 2 (64-bit values aligned to 4) as two standards number it. */
const ENCAPSULATIONS: ReadonlyMap<number, { littleEndian: boolean; alignmentMax: 4 | 8 }> = new Map([
  [0x00, { littleEndian: false, alignmentMax: 8 }],
  [0x01, { littleEndian: true, alignmentMax: 8 }],
  [0x06, { littleEndian: false, alignmentMax: 4 }],
  [0x07, { littleEndian: true, alignmentMax: 4 }],
  [0x10, { littleEndian: false, alignmentMax: 4 }],
  [0x11, { littleEndian: true, alignmentMax: 4 }],
]);

/** A wide string takes four bytes for each UTF-16 unit in CDR version 1, as ROS's middleware has it; no NUL at its end. */
const WIDE_UNIT_BYTES = 4;
/** `String.fromCharCode` takes its units as arguments, of which the stack holds some ten thousands. */
const UNITS_AT_ONCE = 8192;

const hostIsLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
/** A byte order mark is part of a ROS string like any other character. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Reads one message of plain CDR. A length is believed only as far as the bytes that are left could hold it. */
export class CdrMessageReader {
  readonly #type: string;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #littleEndian: boolean;
  readonly #alignmentMax: number;
  #offset = 4;
  #structs = 0;

  /** @throws CdrError for bytes without a header of a known kind. */
  constructor(type: string, cdr: Uint8Array) {
    this.#type = type;
    // Not a Buffer: its slice would share memory with what it came from.
    this.#bytes = new Uint8Array(cdr.buffer, cdr.byteOffset, cdr.byteLength);
    this.#view = new DataView(cdr.buffer, cdr.byteOffset, cdr.byteLength);
    if (cdr.byteLength < 4) throw new CdrError(type, `${cdr.byteLength} bytes are no CDR message`);
    const kind = this.#view.getUint16(0);
    const encapsulation = ENCAPSULATIONS.get(kind);
    if (!encapsulation) throw new CdrError(type, `CDR of kind 0x${kind.toString(16)} is not supported`);
    this.#littleEndian = encapsulation.littleEndian;
    this.#alignmentMax = encapsulation.alignmentMax;
  }

  struct(layout: StructLayout): RosMessage {
    this.#structs += 1;
    if (this.#structs > STRUCTS_MAX) throw new CdrError(this.#type, `it has more than ${STRUCTS_MAX} parts`);
    const message: RosMessage = {};
    if (layout.fields.length === 0) this.#take(1, 1);
    for (const field of layout.fields) {
      message[field.name] =
        field.array === null ? this.#element(field.element) : this.#list(field.element, field.array);
    }
    return message;
  }

  #list(element: ElementLayout, array: ArrayLayout): RosValue {
    const length = array.form === 'fixed' ? array.length : this.#view.getUint32(this.#take(4, 4), this.#littleEndian);
    if (array.form === 'bounded' && length > array.lengthMax) {
      throw new CdrError(this.#type, `a list of ${length} where at most ${array.lengthMax} fit`);
    }
    if (length * elementBytesMin(element) > this.#bytes.length - this.#offset) throw this.#cut();
    if (isNumeric(element)) return this.#numbers(element.kind, length);
    const list: RosValue[] = [];
    for (let index = 0; index < length; index += 1) list.push(this.#element(element));
    return list;
  }

  #element(element: ElementLayout): RosValue {
    switch (element.kind) {
      case 'struct':
        return this.struct(element.struct);
      case 'string':
        return this.#string();
      case 'wstring':
        return this.#wideString();
      case 'bool':
        return this.#view.getUint8(this.#take(1, 1)) !== 0;
      default:
        return this.#number(element.kind);
    }
  }

  #numbers(kind: NumericKind, length: number): RosValue {
    if (length === 0) return new NUMBER_ARRAY[kind](0);
    const size = NUMBER_BYTES[kind];
    if (this.#littleEndian !== hostIsLittleEndian) {
      const numbers: NumberArray = new NUMBER_ARRAY[kind](length);
      for (let index = 0; index < length; index += 1) numbers[index] = this.#number(kind);
      return numbers;
    }
    const start = this.#take(length * size, size);
    return new NUMBER_ARRAY[kind](this.#bytes.slice(start, this.#offset).buffer);
  }

  #number(kind: NumericKind): number | bigint {
    const at = this.#take(NUMBER_BYTES[kind], NUMBER_BYTES[kind]);
    const littleEndian = this.#littleEndian;
    switch (kind) {
      case 'int8':
        return this.#view.getInt8(at);
      case 'uint8':
        return this.#view.getUint8(at);
      case 'int16':
        return this.#view.getInt16(at, littleEndian);
      case 'uint16':
        return this.#view.getUint16(at, littleEndian);
      case 'int32':
        return this.#view.getInt32(at, littleEndian);
      case 'uint32':
        return this.#view.getUint32(at, littleEndian);
      case 'int64':
        return this.#view.getBigInt64(at, littleEndian);
      case 'uint64':
        return this.#view.getBigUint64(at, littleEndian);
      case 'float32':
        return this.#view.getFloat32(at, littleEndian);
      case 'float64':
        return this.#view.getFloat64(at, littleEndian);
    }
  }

  #string(): string {
    const length = this.#view.getUint32(this.#take(4, 4), this.#littleEndian);
    const start = this.#take(length, 1);
    const end = length > 0 && this.#bytes[this.#offset - 1] === 0 ? this.#offset - 1 : this.#offset;
    return decoder.decode(this.#bytes.subarray(start, end));
  }

  #wideString(): string {
    if (this.#alignmentMax !== 8) throw new CdrError(this.#type, 'wide strings in CDR version 2 are not supported');
    const length = this.#view.getUint32(this.#take(4, 4), this.#littleEndian);
    const start = this.#take(length * WIDE_UNIT_BYTES, WIDE_UNIT_BYTES);
    let text = '';
    for (let first = 0; first < length; first += UNITS_AT_ONCE) {
      const units = new Uint16Array(Math.min(UNITS_AT_ONCE, length - first));
      for (let index = 0; index < units.length; index += 1) {
        const unit = this.#view.getUint32(start + (first + index) * WIDE_UNIT_BYTES, this.#littleEndian);
        if (unit > 0xffff) throw new CdrError(this.#type, `0x${unit.toString(16)} is no character of a wide string`);
        units[index] = unit;
      }
      text += String.fromCharCode(...units);
    }
    return text;
  }

  /** Aligns, moves past `size` bytes and returns where they begin. */
  #take(size: number, alignment: number): number {
    const step = Math.min(alignment, this.#alignmentMax);
    const remainder = (this.#offset - 4) % step;
    const start = remainder === 0 ? this.#offset : this.#offset + step - remainder;
    if (start + size > this.#bytes.length) throw this.#cut();
    this.#offset = start + size;
    return start;
  }

  #cut(): CdrError {
    return new CdrError(this.#type, `its ${this.#bytes.length} bytes are cut or of another type`);
  }
}

function isNumeric(element: ElementLayout): element is { kind: NumericKind } {
  return element.kind in NUMBER_BYTES;
}
