/** Messages to fill stores with: as long as asked for, and with content as sensors have it, so that no packing is flattered. */
import { encodeCdr } from '@drover/shared/ros/cdr';
import { commonDefinitions } from '@drover/shared/ros/common';
import { loadInterface, type MessageSchema } from '@drover/shared/ros/definitions';

/** A positioning sensor's messages: 149 bytes each, of which a few change from one to the next. */
export const MESSAGE_TYPE = 'sensor_msgs/msg/NavSatFix';

export interface Messages {
  readonly schema: MessageSchema;
  readonly cdrs: readonly Uint8Array<ArrayBuffer>[];
  /** Of one, on average. */
  readonly bytes: number;
}

/** A walk over the map, another one for each seed. */
export async function messages(count: number, seed: number): Promise<Messages> {
  const definition = await loadInterface(MESSAGE_TYPE, commonDefinitions);
  if (definition.kind !== 'msg') throw new TypeError(`${MESSAGE_TYPE} is no message`);
  const { message: schema } = definition;
  const random = randomOf(seed);
  let [latitude, longitude, altitude] = [47 + random(), 8 + random(), 400 + random()];
  const cdrs: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < count; at += 1) {
    latitude += (random() - 0.5) * 1e-5;
    longitude += (random() - 0.5) * 1e-5;
    altitude += (random() - 0.5) * 0.1;
    const variance = 1 + random() * 0.1;
    const fix = {
      header: {
        stamp: { sec: 1_790_000_000 + at, nanosec: Math.floor(random() * 1e9) },
        frame_id: 'gps_antenna_front_link_base',
      },
      status: { status: 0, service: 1 },
      ...{ latitude, longitude, altitude },
      position_covariance: [variance, 0, 0, 0, variance, 0, 0, 0, variance * 4],
      position_covariance_type: 2,
    };
    cdrs.push(new Uint8Array(encodeCdr(schema, fix)));
  }
  return { schema, cdrs, bytes: cdrs.reduce((sum, cdr) => sum + cdr.byteLength, 0) / count };
}

/** Numbers from 0 to 1, the same for a seed in every run (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
