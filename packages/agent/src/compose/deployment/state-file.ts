import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { robotComposeErrorCode } from '@drover/shared/api/compose';
import { jsonObject, uuid } from '@drover/shared/link/fields';
import type { Logger } from 'pino';
import { z } from 'zod';
import { writeDurably } from '../../disk/durable-file.js';
import { parseJson } from '../../parse-json.js';

const problem = z.object({
  code: robotComposeErrorCode,
  message: z.string(),
  /** What docker and compose said; null = nothing. */
  words: z.string().nullable(),
  /** By the robot's clock. */
  at_ms: z.number(),
});
export type Problem = z.infer<typeof problem>;

const version = z.object({ id: z.string(), version: z.int().positive(), content: jsonObject });
/** A version of a compose file, whole. */
export type Version = z.infer<typeof version>;

const goodVersion = version.extend({
  /** Ids of the images that it ran with, by the names in the document: a name may come to mean another image. */
  images: z.record(z.string(), z.string()),
});
export type GoodVersion = z.infer<typeof goodVersion>;

const upTask = z.object({
  kind: z.literal('up'),
  assignment: uuid,
  version,
  override_lock: z.boolean(),
  /** `bring_back`: it has failed, and what was before is being brought back. */
  stage: z.enum(['deploy', 'bring_back', 'done']),
  /** Why it failed. */
  problem: problem.nullable(),
});
export type UpTask = z.infer<typeof upTask>;

const downTask = z.object({
  kind: z.literal('down'),
  assignment: uuid,
  volumes: z.boolean(),
  override_lock: z.boolean(),
  stage: z.enum(['deploy', 'done']),
  problem: problem.nullable(),
});
export type DownTask = z.infer<typeof downTask>;

const deployment = z.object({
  /** Of this data directory, and in a file of its own beside this: the containers' labels have it, so that it is to outlive this file. */
  agent: uuid,
  /** What was asked for last; null = nothing ever. */
  task: z.discriminatedUnion('kind', [upTask, downTask]).nullable(),
  /** The last version that was healthy, and is to be kept. */
  good: goodVersion.nullable(),
  /** Why that is not there as it should be, though nothing new was asked for. */
  good_problem: problem.nullable(),
  /** Assignments of the removals that were carried out, the newest last. */
  removals: z.array(uuid),
  /** Runs (runOf) of containers that have ended by themselves, and are not to run again by ours. */
  ended: z.array(z.string()),
  /** Something of ours may be at the engine. */
  is_touched: z.boolean(),
  /** What is there may be another version than the good one, or a part of one. */
  is_mixed: z.boolean(),
});
/** Where the robot stands with its compose file: all that the next start of the agent has to know. */
export type Deployment = z.infer<typeof deployment>;

/** A disk that is full is tried again after this long. */
const RETRY_MS = 10_000;

/** Keeps the deployment's state in a file, which after a crash holds either the old or the new one, whole. */
export class StateFile {
  readonly #path: string;
  readonly #log: Logger;
  #stored: string | null = null;
  #onChange: () => void = () => {};
  #state: Deployment;
  #retry: NodeJS.Timeout | null = null;

  /** Reads it; one that makes no sense is set aside, and said. */
  constructor(options: { directory: string; newId: () => string; log: Logger }) {
    mkdirSync(options.directory, { recursive: true, mode: 0o700 });
    this.#path = join(options.directory, 'state.json');
    this.#log = options.log;
    const stored = this.#read();
    const agent = this.#agentId(join(options.directory, 'agent-id'), stored?.agent ?? null, options.newId);
    this.#state = {
      task: null,
      good: null,
      good_problem: null,
      removals: [],
      ended: [],
      is_touched: false,
      is_mixed: false,
      ...stored,
      agent,
    };
  }

  get state(): Deployment {
    return this.#state;
  }

  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Where the disk refuses, the state holds until the agent ends, and is stored when the disk takes it; that is said, and no error to the caller. */
  set(change: Partial<Deployment>): void {
    this.#state = { ...this.#state, ...change };
    this.#store();
    this.#onChange();
  }

  #store(): void {
    const text = JSON.stringify(this.#state);
    if (text === this.#stored && this.#retry === null) return;
    try {
      writeDurably(this.#path, text);
      this.#stored = text;
    } catch (error) {
      if (this.#retry === null)
        this.#log.error(
          { err: error, file: this.#path },
          "the deployment's state can not be stored; it is tried again",
        );
      this.#retry?.refresh();
      this.#retry ??= setTimeout(() => this.#store(), RETRY_MS).unref();
      return;
    }
    if (this.#retry === null) return;
    clearTimeout(this.#retry);
    this.#retry = null;
    this.#log.info({ file: this.#path }, "the deployment's state is stored again");
  }

  /** The one that has a file, else the one of the state, else a new one; it has a file then. */
  #agentId(path: string, stored: string | null, newId: () => string): string {
    try {
      const kept = uuid.safeParse(readFileSync(path, 'utf8').trim());
      if (kept.success) return kept.data;
      this.#log.error({ file: path }, "the agent's id for its containers makes no sense");
    } catch (error) {
      if (!isMissing(error))
        this.#log.error({ err: error, file: path }, "the agent's id for its containers can not be read");
    }
    const id = stored ?? newId();
    try {
      writeDurably(path, `${id}\n`);
    } catch (error) {
      // The state has it as well.
      this.#log.error({ err: error, file: path }, "the agent's id for its containers can not be stored");
    }
    return id;
  }

  #read(): Deployment | null {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if (!isMissing(error)) {
        this.#log.error({ err: error, file: this.#path }, "the deployment's state can not be read; it begins anew");
        this.#setAside();
      }
      return null;
    }
    const read = deployment.safeParse(parseJson(text));
    if (read.success) {
      this.#stored = text;
      return read.data;
    }
    this.#log.error({ file: this.#path }, "the deployment's state makes no sense; it begins anew");
    this.#setAside();
    return null;
  }

  /** What can't be read now may still be of use to somebody; the next write would be over it. */
  #setAside(): void {
    const aside = `${this.#path}.corrupt`;
    try {
      renameSync(this.#path, aside);
      this.#log.warn({ file: aside }, 'the old state was set aside');
    } catch (error) {
      this.#log.error({ err: error, file: this.#path }, 'the old state can not be set aside');
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
