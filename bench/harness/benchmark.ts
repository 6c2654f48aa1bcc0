/** What a benchmark is: it measures the product beside its limit or its peer in one run, and yields rows of a table. */

/** What a row must come to; `ratio`: ours by the peer's, `ours`: the figure itself. */
export interface Goal {
  readonly of: 'ratio' | 'ours';
  readonly is: 'at least' | 'at most';
  readonly bound: number;
  /** `at most` only: or at most so much more than the peer, in the row's unit; what is small may then be more than its ratio. */
  readonly orMore?: number;
  /** Every window must come to it, not their median. */
  readonly inEach?: boolean;
}

export interface MeasuredRow {
  readonly what: string;
  readonly unit: string;
  /** A figure a window. */
  readonly ours: readonly number[];
  /** Measured in the same run; window n of one stands beside window n of the other. */
  readonly peer?: { readonly name: string; readonly values: readonly number[] };
  readonly goal?: Goal;
  readonly note?: string;
}

/** A row that this machine could not measure, and why. */
export interface UnmeasuredRow {
  readonly what: string;
  readonly notMeasured: string;
}

export type Row = MeasuredRow | UnmeasuredRow;

/** A curve: how a figure grows with a size. */
export interface Plot {
  /** Of the file, without `.svg`. */
  readonly name: string;
  readonly title: string;
  readonly x: { readonly label: string; readonly isLog: boolean };
  readonly y: { readonly label: string };
  readonly lines: readonly { readonly name: string; readonly points: readonly (readonly [x: number, y: number])[] }[];
}

export interface Result {
  readonly rows: readonly Row[];
  readonly plots?: readonly Plot[];
  /** What else the run is to be read by (pragmas, sizes, which graph). */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface Context {
  /** Seconds instead of minutes, on little data: that it runs is all it shows. */
  readonly smoke: boolean;
  /** How many windows each contender gets. */
  readonly windows: number;
  /** A folder of the run's own, removed after it. */
  readonly dir: string;
  /** Called when the benchmark has ended, however, the last one first. */
  onEnd(cleanUp: () => unknown): void;
  /** Progress, for a person. */
  say(line: string): void;
}

export interface Benchmark {
  readonly name: string;
  readonly summary: string;
  run(context: Context): Promise<Result>;
}

/** The machine is not such that the benchmark can run; the message says what to do. */
export class CannotRunError extends Error {
  override readonly name = 'CannotRunError';
}

export const ratioAtLeast = (bound: number): Goal => ({ of: 'ratio', is: 'at least', bound });
export const ratioAtMost = (bound: number, or: { orMore?: number } = {}): Goal => ({
  ...{ of: 'ratio', is: 'at most', bound },
  ...or,
});
export const atLeast = (bound: number): Goal => ({ of: 'ours', is: 'at least', bound });
export const atMost = (bound: number): Goal => ({ of: 'ours', is: 'at most', bound });
