import { writeFileSync } from 'node:fs';

/** What bin/drover-agent, the supervisor, tells an agent by its environment; an agent started without it is told nothing. */
export interface Supervision {
  /** How the agent before this one ended: a signal's name or `exit 70`; null for the first. */
  readonly previousEnd: string | null;
  /** Where the supervisor looks whether the agent still counts; null where it does not look. */
  readonly beatsFile: string | null;
}

export function readSupervision(env: Readonly<Record<string, string | undefined>>): Supervision {
  if (!env.DROVER_SUPERVISOR) return { previousEnd: null, beatsFile: null };
  return { previousEnd: env.DROVER_PREVIOUS_END || null, beatsFile: env.DROVER_BEATS_FILE || null };
}

/** Well within the time between two looks of the supervisor. */
const BEAT_MS = 5_000;

/**
 * Counts up in the file for as long as the event loop turns. Where it stands still, in native code for instance, the
 * supervisor ends the process by SIGABRT.
 */
export function startBeats(file: string): void {
  let beats = 0;
  const beat = () => {
    beats += 1;
    try {
      writeFileSync(file, `${beats}\n`);
    } catch {
      // A full disk: the file is then empty, which the supervisor does not hold against us, or as it was once.
    }
  };
  beat();
  setInterval(beat, BEAT_MS).unref();
}
