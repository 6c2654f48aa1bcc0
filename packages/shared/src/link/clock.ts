import { z } from 'zod';
import { epochMs } from './fields.js';

/** Robot's clock + offset = cloud's clock, and by how much that may be off either way (half the best round trip). */
export const clockOffset = z.object({ offset_ms: z.number(), uncertainty_ms: z.number().nonnegative() });
export type ClockOffset = z.infer<typeof clockOffset>;

/** Up: asks for the cloud's clock, as NTP does (RFC 5905 section 8), and says what the agent last measured. */
export const clockRequest = z.object({
  kind: z.literal('clock_request'),
  robot_sent_ms: epochMs,
  measured: clockOffset.nullable(),
});
export type ClockRequest = z.infer<typeof clockRequest>;

/** Down: echoes the robot's time and adds the cloud's at receipt and at sending. */
export const clockReply = z.object({
  kind: z.literal('clock_reply'),
  robot_sent_ms: epochMs,
  cloud_received_ms: epochMs,
  cloud_sent_ms: epochMs,
});
export type ClockReply = z.infer<typeof clockReply>;
