import type { MessageSchema } from '@drover/shared/ros/definitions';
import { toJson } from '@drover/shared/ros/to-json';
import type { RosMessage } from '@drover/shared/ros/values';
import { RESULT_BYTES_MAX } from './outcome.js';

/** Feedback goes up at most this often; in between the latest waits. */
export const FEEDBACK_INTERVAL_MS = 200;

/**
 * A goal's feedback on its way to the cloud: the latest wins, at most five a second, and the last one is kept for the
 * outcome. Not kept on disk. One whose JSON is over RESULT_BYTES_MAX is not sent, as the outcome leaves it out, too.
 */
export class FeedbackRelay {
  readonly #schema: MessageSchema;
  readonly #send: (feedback: unknown) => void;
  #last: RosMessage | null = null;
  #timer: NodeJS.Timeout | null = null;
  #unsent = false;
  #finished = false;

  constructor(schema: MessageSchema, send: (feedback: unknown) => void) {
    this.#schema = schema;
    this.#send = send;
  }

  /** Feedback may come after the result, or of a goal that runs on after its timeout: it is left out. */
  push(feedback: RosMessage): void {
    if (this.#finished) return;
    this.#last = feedback;
    this.#unsent = true;
    if (this.#timer === null) this.#sendLatest();
  }

  /** The last feedback as JSON, null where there was none; nothing is sent any more. */
  finish(): unknown {
    this.#finished = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    return this.#last === null ? null : toJson(this.#schema, this.#last);
  }

  #sendLatest(): void {
    if (!this.#unsent || this.#last === null) return;
    this.#unsent = false;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#sendLatest();
    }, FEEDBACK_INTERVAL_MS);
    const json = toJson(this.#schema, this.#last);
    if (Buffer.byteLength(JSON.stringify(json)) <= RESULT_BYTES_MAX) this.#send(json);
  }
}
