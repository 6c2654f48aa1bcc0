import { z } from 'zod';
import { batchAck } from './batch.js';
import { clockReply } from './clock.js';
import { command, commandCancel, outcomeAck } from './command.js';
import { desired } from './desired.js';
import { query } from './query.js';
import { welcome } from './welcome.js';

/** Everything the cloud may say. */
export const downMessage = z.discriminatedUnion('kind', [
  welcome,
  desired,
  command,
  commandCancel,
  outcomeAck,
  batchAck,
  clockReply,
  query,
]);
export type DownMessage = z.infer<typeof downMessage>;
