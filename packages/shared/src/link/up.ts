import { z } from 'zod';
import { applied } from './applied.js';
import { batch } from './batch.js';
import { clockRequest } from './clock.js';
import { commandFeedback, commandOutcome, commandTaken } from './command.js';
import { composeStatus } from './compose-status.js';
import { hello } from './hello.js';
import { linkStatus } from './link-status.js';
import { answer } from './query.js';
import { streamStatus } from './stream-status.js';

/** Everything an agent may say. */
export const upMessage = z.discriminatedUnion('kind', [
  hello,
  applied,
  commandTaken,
  commandFeedback,
  commandOutcome,
  batch,
  clockRequest,
  streamStatus,
  answer,
  linkStatus,
  composeStatus,
]);
export type UpMessage = z.infer<typeof upMessage>;
