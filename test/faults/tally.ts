import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Life, RobotHistory, Violation } from './history.js';
import { due, effectsOf, lostAtKills } from './invariants.js';
import { type FaultKind, faultText, isOf, type Plan } from './plan.js';
import type { RoundReport } from './round.js';

/** What one round came to, in numbers. */
export interface Tally {
  readonly seed: number;
  readonly faults: Partial<Record<FaultKind, number>>;
  readonly seconds: number;
  readonly settleSeconds: number;
  /** Values published while subscribed that had time to arrive, and how many of them are stored. */
  readonly published: number;
  readonly stored: number;
  readonly duplicates: number;
  /** Not yet committed at a kill, all streams together, and the most of one stream at one kill. */
  readonly lostAtKills: number;
  readonly lostAtKillMax: number;
  readonly lives: number;
  readonly commands: number;
  readonly effects: number;
  readonly outcomes: Record<string, number>;
  readonly violations: readonly Violation[];
}

export function tallyOf(plan: Plan, report: RoundReport, broken: readonly Violation[]): Tally {
  const { history } = report;
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const lost = history.robots.flatMap(lostAtKills);
  const values = history.robots.flatMap((robot) => robot.stored);
  // A fleet's history has the commands of its earlier rounds as well: they must not act later either.
  const commands = history.commands.filter(({ id }) => isOf(plan.seed, id));
  const ends = commands.flatMap(({ rows }) => rows.map(({ state, errorCode }) => errorCode ?? state));
  return {
    seed: plan.seed,
    faults: countOf(plan.faults.map(({ kind }) => kind)),
    seconds: round(report.totalMs),
    settleSeconds: round(report.settleMs),
    published: sum(history.robots.flatMap(({ lives, stored }) => stored.map((_, at) => dueOf(lives, at).length))),
    stored: sum(history.robots.map(storedOfDue)),
    duplicates: sum(values.map((of) => of.length - new Set(of).size)),
    lostAtKills: sum(lost),
    lostAtKillMax: Math.max(0, ...lost),
    lives: sum(history.robots.map(({ lives }) => lives.length)),
    commands: ends.length,
    effects: sum(commands.map((command) => effectsOf(history, command).length)),
    outcomes: countOf(ends),
    violations: broken,
  };
}

export function tallyLine(tally: Tally): string {
  const { seed, seconds, settleSeconds, published, stored, duplicates, lives, commands, effects, violations } = tally;
  const lost = `${tally.lostAtKills} lost at kills (at most ${tally.lostAtKillMax} of a stream)`;
  const result = violations.length === 0 ? 'ok' : `BROKEN: ${violations.map(({ invariant }) => invariant).join('; ')}`;
  return (
    `seed ${seed} ${result} | ${seconds} s (${settleSeconds} to settle) | ${words(tally.faults)} | ${lives} lives | ` +
    `${published} values due, ${stored} stored, ${duplicates} twice, ${lost} | ` +
    `${commands} commands, ${effects} effects: ${words(tally.outcomes)}`
  );
}

/** Adds the round to the tally of a directory and, where something is wrong, keeps what was seen of it. */
export async function recordRound(
  outDir: string | undefined,
  { plan, report, broken, tally }: { plan: Plan; report: RoundReport; broken: readonly Violation[]; tally: Tally },
): Promise<void> {
  if (outDir === undefined) return;
  await mkdir(outDir, { recursive: true });
  await appendFile(join(outDir, 'tally.jsonl'), `${JSON.stringify(tally)}\n`);
  if (broken.length === 0) return;
  const kept = join(outDir, `seed-${plan.seed}`);
  await mkdir(kept, { recursive: true });
  const plain = { faults: plan.faults.map(faultText), violations: broken, plan, history: report.history };
  await writeFile(join(kept, 'round.json'), JSON.stringify(plain, null, 1));
  for (const { name, text } of report.logs) await writeFile(join(kept, `${name}.log`), text);
}

function dueOf(lives: readonly Life[], counter: number): number[] {
  return lives.flatMap((life) => due(life, counter));
}

function storedOfDue({ lives, stored }: RobotHistory): number {
  return stored.reduce((total, values, counter) => {
    const here = new Set(values);
    return total + dueOf(lives, counter).filter((value) => here.has(value)).length;
  }, 0);
}

function countOf<T extends string>(all: readonly T[]): Record<T, number> {
  const counts = {} as Record<T, number>;
  for (const one of all) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
}

function words(counts: Partial<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');
}

function round(ms: number): number {
  return Math.round(ms / 100) / 10;
}
