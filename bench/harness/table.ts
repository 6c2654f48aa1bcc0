/** Rows as a table, and whether their goals hold. */
import type { Goal, MeasuredRow, Row } from './benchmark.js';
import { ratiosOf, type Spread, spreadOf } from './windows.js';

/** A row with its verdict, as it stands in the JSON file. */
export interface Judged {
  readonly row: Row;
  readonly ours?: Spread;
  readonly peer?: Spread;
  /** Of the windows that stood beside each other. */
  readonly ratio?: Spread;
  /** Undefined where there is no goal, or nothing to hold against it. */
  readonly holds?: boolean;
}

/** @param smoke nothing it measured is held against a goal */
export function judged(row: Row, smoke = false): Judged {
  if ('notMeasured' in row) return { row };
  const ours = spreadOf(row.ours);
  const peer = row.peer && spreadOf(row.peer.values);
  const ratio = row.peer && spreadOf(ratiosOf(row.ours, row.peer.values));
  const held = row.goal && !smoke ? heldAgainst(row.goal, row) : undefined;
  return { row, ours, ...(peer && { peer }), ...(ratio && { ratio }), ...(held !== undefined && { holds: held }) };
}

function heldAgainst(goal: Goal, row: MeasuredRow): boolean | undefined {
  const { peer } = row;
  const figures = goal.of === 'ratio' ? ratiosOf(row.ours, peer?.values ?? []) : row.ours;
  const { min, median, max } = spreadOf(figures);
  // A difference of two readings can be below nothing: then it is too small to be read.
  if (Number.isNaN(median) || (goal.of === 'ratio' && median <= 0)) return undefined;
  if (goal.is === 'at least') return (goal.inEach ? min : median) >= goal.bound;
  if ((goal.inEach ? max : median) <= goal.bound) return true;
  if (goal.orMore === undefined || !peer) return false;
  const more = spreadOf(
    row.ours.slice(0, peer.values.length).map((value, at) => value - (peer.values[at] ?? Number.NaN)),
  );
  return (goal.inEach ? more.max : more.median) <= goal.orMore;
}

const HEADS = ['what', 'unit', 'ours: min / median / max', 'against', 'min / median / max', 'ratio', 'goal', 'holds'];

/** As Markdown. */
export function table(rows: readonly Judged[]): string {
  const lines = [HEADS, HEADS.map(() => '---'), ...rows.map(cells)];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function cells(judgedRow: Judged): string[] {
  const { row, ours, peer, ratio, holds } = judgedRow;
  if ('notMeasured' in row) return [row.what, '', `not measured: ${row.notMeasured}`, '', '', '', '', ''];
  return [
    row.note === undefined ? row.what : `${row.what} (${row.note})`,
    row.unit,
    shown(ours),
    row.peer?.name ?? '',
    shown(peer),
    shown(ratio),
    goalOf(row),
    holds === undefined ? '' : holds ? 'yes' : '**no**',
  ];
}

function goalOf({ goal, unit }: MeasuredRow): string {
  if (!goal) return '';
  const bound = `${goal.is === 'at least' ? '≥' : '≤'} ${goal.bound}${goal.of === 'ratio' ? '×' : ` ${unit}`}`;
  const orMore = goal.orMore === undefined ? '' : ` or + ${goal.orMore} ${unit}`;
  return `${bound}${orMore}${goal.inEach ? ' in each window' : ''}`;
}

function shown(spread: Spread | undefined): string {
  if (!spread) return '';
  return [spread.min, spread.median, spread.max].map(figure).join(' / ');
}

/** Three digits, no more: what is behind them is noise. */
function figure(value: number): string {
  if (!Number.isFinite(value)) return '?';
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return Math.abs(value) >= 10_000 ? `${figure(value / 1000)}k` : value.toFixed(Math.min(digits, 6));
}
