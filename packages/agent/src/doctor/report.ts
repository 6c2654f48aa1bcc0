import { stripVTControlCharacters } from 'node:util';
import type { CheckResult, Status } from './check.js';

const STATUS_WIDTH = 6;
const NAME_WIDTH = 12;
const INDENT = ' '.repeat(STATUS_WIDTH + NAME_WIDTH);
/** ANSI: green, yellow, red. */
const COLOURS: Readonly<Record<Status, number>> = { ok: 32, warn: 33, fail: 31 };

/** The lines of the report: one a result, its remedy indented below, the counts last. */
export function reportLines(results: readonly CheckResult[], colours: boolean): string[] {
  const lines = results.flatMap(({ status, name, message, remedy }) => {
    const word = status.padEnd(STATUS_WIDTH);
    const shown = colours ? `\u001b[${COLOURS[status]}m${word}\u001b[0m` : word;
    const remedies = remedy === undefined ? [] : remedy.split('\n').map((line) => `${INDENT}-> ${printable(line)}`);
    return [`${shown}${name.padEnd(NAME_WIDTH)}${printable(message)}`, ...remedies];
  });
  const count = (status: Status) => results.filter((result) => result.status === status).length;
  const warnings = count('warn');
  return [
    ...lines,
    `${count('ok')} ok, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${count('fail')} failed`,
  ];
}

/** Words of servers and programs may hold line breaks and terminal sequences. */
function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
}
