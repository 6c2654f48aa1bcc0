import type { Effect, Life } from './history.js';

/** As in the probe: a life counts from its number times this. */
const PROBE_LIFE = 1_000_000_000;

export interface ReadOptions {
  /** Numbers of the lives that were killed. */
  readonly killed: ReadonlySet<number>;
  readonly counters: number;
  /** The newest value that was looked at before; lives that ended before it are left out. */
  readonly dueAfter: number;
  /** The last life's values up to here have to be stored. */
  readonly dueTo: number;
}

/** What a robot's probe wrote (packages/agent/src/ros/simulated/robot/probe.ts). */
export function readProbe(text: string, options: ReadOptions): { lives: Life[]; effects: Effect[] } {
  const lives: { number: number; published: number[][] }[] = [];
  const effects: Effect[] = [];
  for (const line of text.split('\n')) {
    const [word, value = '', rest = ''] = line.split(' ');
    if (word === 'life') {
      lives.push({ number: Number(value), published: Array.from({ length: options.counters }, () => []) });
    } else if (word === 'tick') {
      for (const [at, values] of (lives.at(-1)?.published ?? []).entries()) {
        if (rest[at] === '1') values.push(Number(value));
      }
    } else if (word === 'goal') {
      effects.push({ interface: 'action_send_goal', id: Number(value), atMs: Number(rest) });
    } else if (word === 'topic' || word === 'service') {
      effects.push({ interface: word, id: Number(value), atMs: Number(rest) });
    }
  }
  const { killed, dueAfter, dueTo } = options;
  const isOfNow = ({ number }: { number: number }) => (number + 1) * PROBE_LIFE > dueAfter;
  const end = (life: { number: number }): Life['end'] => {
    if (life === lives.at(-1)) return 'last';
    return killed.has(life.number) ? 'killed' : 'stopped';
  };
  return { lives: lives.filter(isOfNow).map((life) => ({ ...life, end: end(life), dueAfter, dueTo })), effects };
}

/** The newest value that a robot has published; 0 where there is none. */
export function newestValue(text: string): number {
  const at = text.lastIndexOf('\ntick ');
  return at === -1 ? 0 : Number.parseInt(text.slice(at + 6), 10);
}

/** The number of the newest life; 0 where there is none. */
export function newestLife(text: string): number {
  const at = text.lastIndexOf('life ');
  return at === -1 ? 0 : Number.parseInt(text.slice(at + 5), 10);
}
