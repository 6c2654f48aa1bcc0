import type { Answer, Query, Question } from '@drover/shared/link/query';
import { NoAnswerError } from '../graph/no-answer.js';

/** The first link version that knows questions. */
export const QUESTIONS_SINCE_VERSION = 2;
/** Questions that wait for one robot's answers; one more is refused. */
export const QUESTIONS_PER_ROBOT_MAX = 8;
/** How long a robot may take to answer. */
export const ANSWER_TIMEOUT_MS = 10_000;
/** For a plan it asks the registries of the images. */
export const PLAN_TIMEOUT_MS = 60_000;

/** Questions that only agents of COMPOSE_SINCE_VERSION and later know. */
export function isAboutCompose({ about }: Question): boolean {
  return about === 'compose_plan' || about === 'compose_logs';
}

/**
 * The questions that one session waits for answers to. Nothing of them lasts: with the session, or with the time for an
 * answer, they end, and whoever asked may ask again.
 */
export class OpenQuestions {
  readonly #send: (query: Query) => void;
  readonly #newId: () => string;
  readonly #open = new Map<string, { settle: (answer: Answer | NoAnswerError) => void }>();

  constructor(options: { send: (query: Query) => void; newId: () => string }) {
    this.#send = options.send;
    this.#newId = options.newId;
  }

  /** @throws NoAnswerError busy, timeout or offline */
  async ask(question: Question): Promise<Answer> {
    if (this.#open.size >= QUESTIONS_PER_ROBOT_MAX) {
      throw new NoAnswerError('busy', `${QUESTIONS_PER_ROBOT_MAX} questions wait for its answers already`);
    }
    const id = this.#newId();
    const timeoutMs = question.about === 'compose_plan' ? PLAN_TIMEOUT_MS : ANSWER_TIMEOUT_MS;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Answer>((resolve, reject) => {
        const settle = (answer: Answer | NoAnswerError) =>
          answer instanceof NoAnswerError ? reject(answer) : resolve(answer);
        this.#open.set(id, { settle });
        const late = () => settle(new NoAnswerError('timeout', `it did not answer within ${timeoutMs / 1000} s`));
        timer = setTimeout(late, timeoutMs).unref();
        this.#send({ kind: 'query', id, question });
      });
    } finally {
      clearTimeout(timer);
      this.#open.delete(id);
    }
  }

  /** An answer came; false where nobody waits for it (any more). */
  answered(answer: Answer): boolean {
    const open = this.#open.get(answer.id);
    open?.settle(answer);
    return open !== undefined;
  }

  /** The session has ended. */
  end(): void {
    for (const { settle } of this.#open.values()) {
      settle(new NoAnswerError('offline', 'its connection ended before it answered'));
    }
  }
}
