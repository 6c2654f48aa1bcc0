import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CdrError, decodeCdr, encodeCdr } from './cdr.js';
import { commonDefinitions } from './common.js';
import { loadInterface, type MessageSchema, parseSchema } from './definitions.js';
import { NUMBER_ARRAY } from './numbers.js';
import type { RosMessage } from './values.js';

const inline = (text: string) => parseSchema('test_pkg/msg/Inline', text);

async function message(type: string): Promise<MessageSchema> {
  const definition = await loadInterface(type, commonDefinitions);
  if (definition.kind !== 'msg') throw new TypeError(`${type} is no message`);
  return definition.message;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const bytes = (text: string) => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'));

describe('layout of the bytes', () => {
  it('aligns from the end of the header and counts a string in bytes, with its NUL', () => {
    const schema = inline('string s\nfloat64 f\nuint8 u\nint64[] w');
    const cdr = encodeCdr(schema, { s: 'ä', f: 1, u: 7, w: new BigInt64Array([-1n]) });
    expect(hex(cdr)).toBe(
      ['00010000', '03000000', 'c3a400', '00', '000000000000f03f', '07', '000000', '01000000', 'ff'.repeat(8)].join(''),
    );
  });

  it('gives a message without fields one byte, also where it has constants', async () => {
    expect(hex(encodeCdr(await message('test_msgs/msg/Empty'), {}))).toBe('0001000000');
    expect(hex(encodeCdr(await message('test_msgs/msg/Constants'), {}))).toBe('0001000000');
    expect(decodeCdr(await message('test_msgs/msg/Constants'), bytes('00010000 00'))).toEqual({});
  });

  it('does not align the elements of an empty list', () => {
    expect(hex(encodeCdr(inline('float64[] w\nuint32 u'), { w: new Float64Array(), u: 1 }))).toBe(
      '000100000000000001000000',
    );
  });

  it('reads big endian and CDR version 2', () => {
    const schema = inline('uint8 u\nfloat64 f\nint16[] h');
    const value = { u: 1, f: 1, h: new Int16Array([2]) };
    const big = '01 00000000000000 3ff0000000000000 00000001 0002';
    expect(decodeCdr(schema, bytes(`00000000 ${big}`))).toEqual(value);
    expect(decodeCdr(schema, bytes('00070000 01 000000 000000000000f03f 01000000 0200'))).toEqual(value);
  });

  it('reads a string without its NUL, and an empty one without any byte', () => {
    expect(decodeCdr(inline('string a\nstring b'), bytes('00010000 02000000 6869 0000 00000000'))).toEqual({
      a: 'hi',
      b: '',
    });
  });

  it('ignores bytes after the message', () => {
    expect(decodeCdr(inline('uint8 u'), bytes('00010000 05 000000'))).toEqual({ u: 5 });
  });
});

describe('bytes that are none of the type', () => {
  it.each([
    ['nothing at all', 'uint8 u', ''],
    ['a header alone', 'uint8 u', '00010000'],
    ['an unknown kind', 'uint8 u', '00020000 00'],
    ['a string longer than the message', 'string s', '00010000 ff000000 61'],
    ['a list whose length nothing could hold', 'bool[] b', '00010000 ffffffff 01'],
    ['a list of strings whose length nothing could hold', 'string[] s', '00010000 ffffff7f 01'],
    ['a big endian list whose length nothing could hold', 'float64[] s', '00000000 7fffffff 01'],
    ['a list beyond its bound', 'uint8[<=1] s', '00010000 02000000 0101'],
  ])('%s is a CdrError', (_name, text, cdr) => {
    expect(() => decodeCdr(inline(text), bytes(cdr))).toThrow(CdrError);
  });

  it('a length that nothing could hold asks for no memory', () => {
    const schema = inline('float64[] s');
    const made = vi.spyOn(NUMBER_ARRAY, 'float64');
    onTestFinished(() => made.mockRestore());
    expect(() => decodeCdr(schema, bytes('00000000 7fffffff 01'))).toThrow(CdrError);
    expect(made).not.toHaveBeenCalled();
  });

  it('never reads past the view it was given', () => {
    const memory = bytes('00010000 04000000 616263 00');
    expect(() => decodeCdr(inline('string s'), memory.subarray(0, 9))).toThrow(CdrError);
  });

  it('shares no memory with the bytes', () => {
    const schema = inline('uint8[] v');
    const cdr = Buffer.from(encodeCdr(schema, { v: new Uint8Array([1, 2]) }));
    const message = decodeCdr(schema, cdr);
    cdr.fill(0);
    expect(message).toEqual({ v: new Uint8Array([1, 2]) });
  });
});

describe('values that are none of the type', () => {
  it.each<[string, RosMessage, string]>([
    ['uint8 v', { v: 256 }, 'v: expected a number of uint8, got 256'],
    ['uint8 v', { v: 1.5 }, 'v: expected a number of uint8, got 1.5'],
    ['int64 v', { v: 5 }, 'v: expected a bigint of int64, got 5'],
    ['uint64 v', { v: -1n }, 'v: expected a bigint of uint64, got -1'],
    ['float32 v', {}, 'v: expected a number of float32, got nothing'],
    ['bool v', { v: 1 }, 'v: expected true or false, got 1'],
    ['string v', { v: 'a\0' }, 'v: expected a string without NUL'],
    ['string<=1 v', { v: 'ä' }, 'v: expected a string of at most 1 bytes'],
    ['float64[2] v', { v: new Float64Array(3) }, 'v: expected 2 values'],
    ['float64[<=2] v', { v: new Float64Array(3) }, 'v: expected at most 2 values'],
    ['float64[] v', { v: new Float32Array(3) }, 'v: expected a list of float64'],
    ['float64[] v', { v: 'abc' }, 'v: expected a list, got "abc"'],
    ['builtin_interfaces/Time v', { v: [] }, 'v: expected an object'],
  ])('%s refuses %o', (text, value, words) => {
    expect(() => encodeCdr(inline(text), value)).toThrow(words);
    expect(() => encodeCdr(inline(text), value)).toThrow(CdrError);
  });

  it('takes plain lists of numbers', () => {
    const schema = inline('float64[] v\nint64[1] w');
    expect(decodeCdr(schema, encodeCdr(schema, { v: [1, 2], w: [3n] }))).toEqual({
      v: new Float64Array([1, 2]),
      w: new BigInt64Array([3n]),
    });
  });
});

describe('wide strings', () => {
  it('have their length in UTF-16 units, four bytes a unit and no NUL', () => {
    const schema = inline('uint8 u\nwstring s\nwstring[<=2] t');
    const cdr = encodeCdr(schema, { u: 7, s: 'a\u{1f600}', t: ['', 'é\0'] });
    expect(hex(cdr)).toBe(
      [
        ['00010000', '07000000', '03000000', '61000000', '3dd80000', '00de0000'],
        ['02000000', '00000000', '02000000', 'e9000000', '00000000'],
      ]
        .flat()
        .join(''),
    );
    expect(decodeCdr(schema, cdr)).toEqual({ u: 7, s: 'a\u{1f600}', t: ['', 'é\0'] });
  });

  it('are read big endian, as long as memory holds them, and with half of a pair', () => {
    expect(decodeCdr(inline('wstring s'), bytes('00000000 00000002 00000061 0000d83d'))).toEqual({ s: 'a\ud83d' });
    const long = 'wörter'.repeat(50_000);
    const schema = inline('wstring s');
    expect(decodeCdr(schema, encodeCdr(schema, { s: long }))).toEqual({ s: long });
  });

  it.each([
    ['longer than the message', '00010000 ff000000 61000000', /cut/],
    ['of units beyond UTF-16', '00010000 01000000 00f60100', /0x1f600 is no character/],
    ['of CDR version 2', '00070000 01000000 61000000', /version 2/],
  ])('%s are a CdrError', (_name, cdr, words) => {
    expect(() => decodeCdr(inline('wstring s'), bytes(cdr))).toThrow(words);
    expect(() => decodeCdr(inline('wstring s'), bytes(cdr))).toThrow(CdrError);
  });

  it('keep their bound, in UTF-16 units', () => {
    const schema = inline('wstring<=2 s');
    expect(decodeCdr(schema, encodeCdr(schema, { s: '\u{1f600}' }))).toEqual({ s: '\u{1f600}' });
    expect(() => encodeCdr(schema, { s: 'abc' })).toThrow('s: expected a wide string of at most 2 characters');
    expect(() => encodeCdr(schema, { s: 5 })).toThrow('s: expected a string, got 5');
  });
});
