import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { writeDurably } from '../disk/durable-file.js';
import { QuarantinedError, type RosSource } from '../ros/graph.js';
import type { Admitted, NativeGuard } from '../ros/guard.js';
import { CrumbWriter, readCrumbs } from './crumbs.js';

/** So many crashes of the process while a source is handled, and it is not touched any more. */
export const CRASHES_MAX = 3;
/** A crash that is longer ago says nothing about the next one. */
const CRASH_REMEMBERED_MS = 7 * 24 * 3600_000;
/** Sources accused at a time; past that those whose crash is the longest ago are forgotten. */
const ACCUSED_MAX = 500;

export interface QuarantineOptions {
  readonly dataDir: string;
  /**
   * How the process before this one ended, as its supervisor saw it: a signal's name, `exit 70`, null where nobody knows.
   * Only a native crash accuses anybody.
   */
  readonly previousEnd: string | null;
  readonly wallNow: () => number;
  readonly log: Logger;
}

/** Signals by which native code ends a process. SIGKILL is none: it says nothing of what was being handled. */
const CRASH_SIGNALS: ReadonlySet<string> = new Set(['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP']);

const accused = z.object({
  kind: z.enum(['subscription', 'publisher', 'service', 'action']),
  name: z.string(),
  type: z.string(),
  crashes: z.int().positive(),
  last_crash_ms: z.number(),
  last_end: z.string(),
});
type Accused = z.infer<typeof accused>;
const fileContent = z.object({ accused: z.array(accused) });

/**
 * Remembers over crashes what was handled in native code when they came, and refuses it after the third.
 *
 * After a crash the source that native code was just handling is accused; where there was none, all whose work was under way.
 * A source is its kind, name and type, so that another type on the same topic is tried. The accusations are on disk
 * before anything native runs again. They are lifted
 *  - of a subscription, by wanting it no more (its stream disabled, deleted or of another type),
 *  - of all, by a clean stop of the agent.
 * A file that can't be read counts as empty, one that can't be written costs only the memory of it.
 */
export class Quarantine implements NativeGuard {
  readonly #path: string;
  readonly #options: QuarantineOptions;
  readonly #accused = new Map<string, Accused>();
  readonly #crumbs: CrumbWriter;

  constructor(options: QuarantineOptions) {
    const { dataDir, log } = options;
    this.#options = options;
    this.#path = join(dataDir, 'quarantine.json');
    this.#load();
    const crumbsPath = join(dataDir, 'crumbs');
    if (options.previousEnd !== null && CRASH_SIGNALS.has(options.previousEnd)) {
      this.#accuse(crumbsPath, options.previousEnd);
    }
    this.#crumbs = new CrumbWriter(crumbsPath, log);
  }

  /** @throws QuarantinedError */
  admit(source: RosSource): Admitted {
    const known = this.#accused.get(keyOf(source));
    if (known && known.crashes >= CRASHES_MAX) {
      throw new QuarantinedError(source, known.last_crash_ms, known.crashes, known.last_end);
    }
    return this.#crumbs.noting(source);
  }

  /** Lifts the accusations against all subscriptions but these, which are still wanted. */
  keepSubscriptions(wanted: readonly Pick<RosSource, 'name' | 'type'>[]): void {
    const kept = new Set(wanted.map(({ name, type }) => keyOf({ kind: 'subscription', name, type })));
    const before = this.#accused.size;
    for (const [key, { kind, name, type, crashes }] of this.#accused) {
      if (kind !== 'subscription' || kept.has(key)) continue;
      this.#accused.delete(key);
      if (crashes >= CRASHES_MAX) this.#options.log.info({ topic: name, type }, 'quarantine lifted');
    }
    if (this.#accused.size < before) this.#save();
  }

  /** A clean stop: whatever was accused is tried again by the next start. */
  close(): void {
    this.#crumbs.close();
    const before = this.#accused.size;
    this.#accused.clear();
    if (before > 0) this.#save();
  }

  #load(): void {
    const { wallNow, log } = this.#options;
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch {
      return;
    }
    try {
      const since = wallNow() - CRASH_REMEMBERED_MS;
      for (const one of fileContent.parse(JSON.parse(text)).accused) {
        if (one.crashes >= CRASHES_MAX || one.last_crash_ms > since) this.#accused.set(keyOf(one), one);
      }
    } catch (err) {
      log.warn({ err, file: this.#path }, 'what was quarantined can not be read, and is forgotten');
    }
  }

  #accuse(crumbsPath: string, end: string): void {
    const { wallNow, log } = this.#options;
    const { handled, underWay } = readCrumbs(crumbsPath) ?? { handled: null, underWay: [] };
    const suspects = handled ? [handled] : underWay;
    if (suspects.length === 0) {
      log.warn({ end }, 'the agent before this one crashed while nothing of ROS was being handled');
      return;
    }
    for (const source of suspects) {
      const key = keyOf(source);
      const crashes = (this.#accused.get(key)?.crashes ?? 0) + 1;
      // Set anew, so that the map is in the order of the crashes.
      this.#accused.delete(key);
      this.#accused.set(key, { ...source, crashes, last_crash_ms: wallNow(), last_end: end });
      const fields = { source, end, crashes };
      if (crashes < CRASHES_MAX) log.warn(fields, 'the agent before this one crashed while it handled this source');
      else log.error(fields, 'source quarantined: the agent crashed while it handled it, again and again');
    }
    for (const key of this.#accused.keys()) {
      if (this.#accused.size <= ACCUSED_MAX) break;
      this.#accused.delete(key);
    }
    this.#save();
  }

  #save(): void {
    try {
      writeDurably(this.#path, JSON.stringify({ accused: [...this.#accused.values()] }));
    } catch (err) {
      this.#options.log.error({ err }, 'what is quarantined can not be written to disk');
    }
  }
}

function keyOf({ kind, name, type }: RosSource): string {
  return `${kind} ${type} ${name}`;
}
