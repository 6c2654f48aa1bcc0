/** A ROS message as a plain object: numbers, bigints for 64-bit integers, strings, booleans, arrays or typed arrays, and
 * nested messages. What @foxglove/rosmsg2-serialization reads and writes. */
export interface RosMessage {
  [field: string]: RosValue;
}
export type RosValue =
  | number
  | bigint
  | string
  | boolean
  | RosMessage
  | RosValue[]
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;
