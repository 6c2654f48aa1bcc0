import { createHash } from 'node:crypto';
import type { MessageDefinition } from '@foxglove/message-definition';
import { parse } from '@foxglove/rosmsg';
import { DefinitionError } from './definition-error.js';
import { isNumericKind } from './layout.js';
import { splitTypeName } from './types.js';

/**
 * The text of message definitions: sections, references, and its parsing by @foxglove/rosmsg. The text may come from a
 * robot, so it is bounded and its lines are checked before that parser sees them: its patterns for names take
 * exponential time on some inputs, it finds an unqualified type in the wrong package when two have one of that name,
 * and it knows neither `pkg/msg/Name` nor an empty list as the default of a list of numbers.
 */

/** A definition with all its dependencies. ROS's longest common one (visualization_msgs/InteractiveMarkerUpdate) has 24 KB. */
export const DEFINITION_TEXT_MAX = 1024 * 1024;
/** Messages within a definition. */
export const DEFINITION_SECTIONS_MAX = 500;
const FIELDS_MAX = 20_000;
/** A line that holds a quoted literal; others are cut at their comment first. */
const LINE_MAX = 2000;

const SEPARATOR = '='.repeat(80);

export interface Section {
  /** `pkg/Name`. */
  readonly name: string;
  readonly text: string;
}

/** A message's text followed by its dependencies, as MCAP's schema encoding `ros2msg` has it. */
export function joinSections(own: string, dependencies: readonly Section[]): string {
  const parts = dependencies.map(({ name, text }) => `${SEPARATOR}\nMSG: ${name}\n${withoutTrailingSpace(text)}`);
  return [withoutTrailingSpace(own), ...parts].join('');
}

function withoutTrailingSpace(text: string): string {
  return `${text.replaceAll('\r', '').trimEnd()}\n`;
}

/** SHA-256 of a text, hex. */
export function textHash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The parts of a service or an action, which lines of `---` separate. */
export function splitParts(text: string): string[] {
  return text.split(/^[ \t]*---[ \t]*\r?$/m);
}

/**
 * The messages that a message's own text names, as `pkg/Name`, each once, in order.
 * @throws DefinitionError
 */
export function referencesOf(type: string, text: string): string[] {
  const { pkg } = splitTypeName(type);
  const found = new Set<string>();
  for (const line of significantLines(text)) {
    const { fieldType } = readLine(type, pkg, line);
    if (!fieldType.includes('/')) continue;
    if (!MESSAGE_NAME.test(fieldType)) throw new DefinitionError(type, `${fieldType} is not a message's name`);
    found.add(fieldType);
  }
  return [...found];
}

/**
 * Parses a definition with its dependencies; the message's own comes first, every name is `pkg/Name`.
 * @throws DefinitionError
 */
export function parseDefinitions(type: string, text: string): MessageDefinition[] {
  if (text.length > DEFINITION_TEXT_MAX) {
    throw new DefinitionError(type, `it has more than ${DEFINITION_TEXT_MAX} characters`);
  }
  const { pkg, name } = splitTypeName(type);
  const lines: string[] = [`MSG: ${pkg}/${name}`];
  let currentPkg = pkg;
  let sections = 1;
  for (const line of significantLines(text)) {
    if (line.startsWith('==')) {
      sections += 1;
      lines.push(SEPARATOR);
    } else if (line.startsWith('MSG:')) {
      const sectionName = shortName(line.slice(4).trim());
      currentPkg = sectionName.split('/')[0] ?? '';
      lines.push(`MSG: ${sectionName}`);
    } else {
      lines.push(readLine(type, currentPkg, line).qualified);
    }
    if (sections > DEFINITION_SECTIONS_MAX || lines.length > FIELDS_MAX) {
      throw new DefinitionError(type, `it has over ${DEFINITION_SECTIONS_MAX} messages or ${FIELDS_MAX} fields`);
    }
  }
  try {
    return parse(lines.join('\n'), { ros2: true, skipTypeFixup: true });
  } catch (error) {
    throw new DefinitionError(type, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function* significantLines(text: string): Generator<string> {
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (line !== '' && !line.startsWith('#')) yield line;
  }
}

const LINE = /^([A-Za-z][A-Za-z0-9_/]*)(<=\d{1,9})?(\[(?:<=)?\d{0,9}\])?\s+([A-Za-z0-9_]+)(.*)$/s;
const FIELD_NAME = /^[a-z](?:[a-z0-9]|_(?=[a-z0-9]))*$/;
const CONSTANT_NAME = /^[A-Z](?:[A-Z0-9]|_(?=[A-Z0-9]))*$/;
const MESSAGE_NAME = /^[a-z][a-z0-9_]*\/[A-Z][A-Za-z0-9]*$/;
const PLAIN_TYPES = new Set(['bool', 'byte', 'char', 'string', 'wstring', 'time', 'duration']);

/** One line checked and written out so that nothing in it depends on where it stands. */
function readLine(type: string, pkg: string, line: string): { fieldType: string; qualified: string } {
  const quoted = /['"]/.test(line);
  const bare = quoted ? line : line.replace(/#.*$/s, '').replace(/\s+/g, ' ').trimEnd();
  const shown = JSON.stringify(bare.slice(0, 80));
  if (bare.length > LINE_MAX) throw new DefinitionError(type, `a line is longer than ${LINE_MAX}: ${shown}`);
  const match = LINE.exec(bare);
  if (!match) throw new DefinitionError(type, `this is no field: ${shown}`);
  const [, rawType = '', bound = '', array = '', name = '', rest = ''] = match;
  const isConstant = rest.trimStart().startsWith('=');
  if (!(isConstant ? CONSTANT_NAME : FIELD_NAME).test(name)) {
    throw new DefinitionError(
      type,
      `${JSON.stringify(name)} is not a valid name for a ${isConstant ? 'constant' : 'field'}`,
    );
  }
  const fieldType =
    PLAIN_TYPES.has(rawType) || isNumericKind(rawType)
      ? rawType
      : rawType.includes('/')
        ? shortName(rawType)
        : `${pkg}/${rawType}`;
  const value = array !== '' && /^\s*\[\s*\]\s*$/.test(rest) ? '' : rest;
  return { fieldType, qualified: `${fieldType}${bound}${array} ${name}${value}` };
}

/** `pkg/Name` of `pkg/msg/Name`. */
function shortName(type: string): string {
  const parts = type.split('/');
  return parts.length === 3 && parts[1] === 'msg' ? `${parts[0]}/${parts[2]}` : type;
}
