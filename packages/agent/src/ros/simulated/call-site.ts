/** Where in the code something was called from: what a log record's file, function and line say. */
export interface CallSite {
  readonly file: string;
  readonly function: string;
  readonly line: number;
}

const FRAME = /^\s*at (?:async )?(?:(.+?) \()?(.+?):(\d+):\d+\)?$/;

/** @param depth how many callers up from whoever calls this. */
export function callSite(depth: number): CallSite {
  // The error's own line, this function, whoever called it.
  const frame = new Error('where').stack?.split('\n')[depth + 2] ?? '';
  const [, name = '', file = '', line = '0'] = FRAME.exec(frame) ?? [];
  return { file: file.replace(/^file:\/\//, ''), function: name, line: Number(line) };
}
