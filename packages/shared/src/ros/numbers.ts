import type { FloatKind, IntegerKind, NumericKind, WideIntegerKind } from './layout.js';

/** The ranges of ROS's numbers and the typed arrays that hold lists of them. */

export const INTEGER_RANGE: Readonly<Record<IntegerKind, readonly [min: number, max: number]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int32: [-2147483648, 2147483647],
  uint32: [0, 4294967295],
};

export const WIDE_INTEGER_RANGE: Readonly<Record<WideIntegerKind, readonly [min: bigint, max: bigint]>> = {
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

export const NUMBER_ARRAY = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

export type NumberArray = InstanceType<(typeof NUMBER_ARRAY)[NumericKind]>;

export function isIntegerKind(kind: NumericKind): kind is IntegerKind {
  return kind in INTEGER_RANGE;
}

export function isWideIntegerKind(kind: NumericKind): kind is WideIntegerKind {
  return kind === 'int64' || kind === 'uint64';
}

export function isFloatKind(kind: NumericKind): kind is FloatKind {
  return kind === 'float32' || kind === 'float64';
}

/** Whether a value is a typed array (not a DataView). */
export function isNumberArray(value: unknown): value is NumberArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}
