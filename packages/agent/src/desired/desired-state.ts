import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { type Desired, desired as desiredSchema } from '@drover/shared/link/desired';
import type { Logger } from 'pino';
import { z } from 'zod';
import { writeDurably } from '../disk/durable-file.js';
import type { Uplink } from '../link/link.js';
import { parseJson } from '../parse-json.js';

const storedSchema = z.object({ robot_id: z.string(), desired: desiredSchema });

export interface DesiredStateOptions {
  readonly dataDir: string;
  /** Makes the capabilities of the robot do what the document says; must not throw. */
  readonly apply: (desired: Desired, robotId: string) => void;
  readonly log: Logger;
}

/**
 * What the robot should do by itself. The last document is on disk and applied at start, before any connection, so that
 * streams record while the cloud is away.
 *
 * The first document of a session is taken whatever its revision: the cloud is the authority, and one that was restored
 * from a backup (or a robot made anew under the same id) counts from a smaller one. Within a session an older revision
 * never replaces a newer one.
 */
export class DesiredState {
  readonly #options: DesiredStateOptions;
  readonly #log: Logger;
  readonly #path: string;
  #current: Desired | null = null;
  /** What the file holds. */
  #storedText: string | null = null;
  #robotId = '';
  #uplink: Uplink | null = null;
  #isFirstOfSession = true;

  constructor(options: DesiredStateOptions) {
    this.#options = options;
    this.#log = options.log.child({ part: 'desired' });
    this.#path = join(options.dataDir, 'desired.json');
  }

  /** The revision applied; null before the first. */
  get revision(): number | null {
    return this.#current?.revision ?? null;
  }

  /** Applies what the last run was told. A file that can't be read is set aside, and said. */
  start(): void {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) {
        this.#log.error({ err: error }, 'the stored desired state can not be read');
      }
      return;
    }
    const stored = storedSchema.safeParse(parseJson(text));
    if (!stored.success) {
      renameSync(this.#path, `${this.#path}.corrupt`);
      this.#log.error(
        { file: this.#path },
        'the stored desired state makes no sense; set aside until the cloud says it anew',
      );
      return;
    }
    this.#storedText = text;
    this.#current = stored.data.desired;
    this.#robotId = stored.data.robot_id;
    this.#log.info({ revision: this.#current.revision }, 'desired state of the last session applies');
    this.#options.apply(this.#current, this.#robotId);
  }

  opened(uplink: Uplink, robotId: string): void {
    this.#uplink = uplink;
    this.#isFirstOfSession = true;
    if (this.#robotId !== robotId) this.#current = null;
    this.#robotId = robotId;
  }

  closed(): void {
    this.#uplink = null;
  }

  receive(document: Desired): void {
    const isOlder = this.#current !== null && document.revision < this.#current.revision;
    if (isOlder && !this.#isFirstOfSession) {
      this.#log.warn({ revision: document.revision, newer: this.revision }, 'an older desired state is left out');
      return;
    }
    this.#isFirstOfSession = false;
    const isStored = this.#store(document);
    this.#current = document;
    this.#log.info({ revision: document.revision, streams: document.streams.length }, 'desired state applies');
    this.#options.apply(document, this.#robotId);
    if (isStored) this.#uplink?.send({ kind: 'applied', revision: document.revision });
  }

  /** False where the disk refused: the document then holds until the next restart. */
  #store(document: Desired): boolean {
    const text = JSON.stringify({ robot_id: this.#robotId, desired: document });
    // Each session brings it: a network that comes and goes must not wear the robot's flash.
    if (text === this.#storedText && existsSync(this.#path)) return true;
    try {
      writeDurably(this.#path, text);
      this.#storedText = text;
      return true;
    } catch (error) {
      this.#log.error({ err: error }, 'the desired state can not be stored; it applies until a restart');
      return false;
    }
  }
}
