import { DefinitionError } from '@drover/shared/ros/definitions';
import { splitTypeName } from '@drover/shared/ros/types';
import { type IDLMessageDefinition, type IDLMessageDefinitionField, parseIDL } from '@foxglove/omgidl-parser';

/**
 * Interfaces that a package defines as .idl alone, written as the .msg, .srv or .action text that means the same: so the
 * cloud, the codec and an MCAP file know one language. Parsed by @foxglove/omgidl-parser; what it lacks of ROS's use of IDL
 * is done to the text before: it knows one file and not what that includes, reads default values as numbers of
 * JavaScript, leaves escapes in strings, and takes no field whose name is a word of IDL (`sequence<int32> sequence`).
 */

const PARTS = { msg: [''], srv: ['_Request', '_Response'], action: ['_Goal', '_Result', '_Feedback'] } as const;
/** What rosidl puts into a struct without fields, since IDL knows no empty ones; in CDR it is the one byte of those. */
const ONLY_MEMBER = 'structure_needs_at_least_one_member';

const STRING = String.raw`L?"(?:[^"\\\n]|\\.)*"`;
const COMMENT_OR_STRINGS = new RegExp(String.raw`//[^\n]*|/\*[\s\S]*?\*/|${STRING}(?:\s*${STRING})*`, 'g');
const INCLUDE = /^[ \t]*#[ \t]*include[^\n]*$/gm;
const PLAIN_DEFAULT = /@default\s*\(\s*value\s*=\s*([^\s")][^")]*?)\s*\)/g;
const REFERENCE = /\b([a-z][a-z0-9_]*)::(msg|srv|action)::([A-Z][A-Za-z0-9_]*)\b(?!\s*::)/g;
/** The parser's keywords that a field may be named. */
const WORDS =
  'struct|module|enum|const|typedef|union|switch|case|boolean|wstring|string|sequence|byte|octet|wchar|char|double|float|int8|uint8|int16|uint16|int32|uint32|int64|uint64|unsigned|short|long|default';
const NAMED_AS_WORD = new RegExp(String.raw`([\w>]\s+)(${WORDS})(\s*(?:\[[^\]]*\]\s*)*[;,])`, 'g');
const AS_WORD = 'drover_word_';

const FIELD_TYPES = /^(?:bool|u?int(?:8|16|32|64)|float(?:32|64)|w?string)$/;

/**
 * The text of a type's .msg, .srv or .action by its .idl.
 * @param type full name, `pkg/msg/Name`.
 * @throws DefinitionError for what is no IDL, or has no form in ROS (unions, enums, wchar, long double, arrays of arrays).
 */
export function textOfIdl(type: string, idl: string): string {
  const { pkg, kind, name } = splitTypeName(type);
  const source = new Source(idl);
  let definitions: IDLMessageDefinition[];
  try {
    definitions = parseIDL(source.text);
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new DefinitionError(type, `its .idl can't be read: ${reason}`, { cause: error });
  }
  const byName = new Map(definitions.map((definition) => [definition.name, definition]));
  const parts = PARTS[kind].map((suffix) => {
    const struct = byName.get(`${pkg}::${kind}::${name}${suffix}`);
    if (struct?.aggregatedKind !== 'struct') {
      throw new DefinitionError(type, `its .idl defines no struct ${name}${suffix}`);
    }
    const constants = byName.get(`${pkg}::${kind}::${name}${suffix}_Constants`);
    const lines = constants?.aggregatedKind === 'module' ? constants.definitions.map(source.constantLine) : [];
    for (const field of struct.definitions) {
      if (field.name !== ONLY_MEMBER) lines.push(fieldLine(type, field, source));
    }
    return lines.map((line) => `${line}\n`).join('');
  });
  return parts.join('---\n');
}

/** A literal of the file: what a string holds, or a default's text as it stands there. */
type Literal = { readonly text: string } | { readonly plain: string };

/** A file made fit for the parser: without comments, each literal replaced by a string with its number. */
class Source {
  readonly text: string;
  readonly #literals: Literal[] = [];

  constructor(idl: string) {
    const bare = idl
      .replaceAll('\r', '')
      .replace(INCLUDE, '')
      .replace(COMMENT_OR_STRINGS, (found) => (found.startsWith('/') ? ' ' : this.#put({ text: unquoted(found) })))
      .replace(PLAIN_DEFAULT, (_, plain: string) => `@default (value=${this.#put({ plain })})`)
      .replace(NAMED_AS_WORD, (_, before, word, after) => `${before}${AS_WORD}${word}${after}`);
    this.text = `${stubs(bare)}\n${bare}`;
  }

  readonly constantLine = (field: IDLMessageDefinitionField): string => {
    const value =
      field.type === 'string' || field.type === 'wstring'
        ? JSON.stringify(this.#stringOf(field.value))
        : wordOf(field.valueText ?? String(field.value));
    return `${field.type} ${field.name}=${value}`;
  };

  /** A field's default as .msg writes it, with a space before; '' where it has none. */
  defaultOf(field: IDLMessageDefinitionField): string {
    const literal = typeof field.defaultValue === 'string' ? this.#literals[Number(field.defaultValue)] : undefined;
    if (literal === undefined) return '';
    if ('plain' in literal) return ` ${wordOf(literal.plain)}`;
    // rosidl writes a list's default as a tuple of Python in a string.
    if (field.isArray === true) return ` ${listOf(literal.text)}`;
    return ` ${JSON.stringify(literal.text)}`;
  }

  #stringOf(value: unknown): string {
    const literal = this.#literals[Number(value)];
    return literal !== undefined && 'text' in literal ? literal.text : String(value);
  }

  #put(literal: Literal): string {
    this.#literals.push(literal);
    return `"${this.#literals.length - 1}"`;
  }
}

/** Structs for what the file includes: the parser wants each type that is named, and only its name counts here. */
function stubs(text: string): string {
  const found = new Map<string, string>();
  for (const [, pkg, kind, name] of text.matchAll(REFERENCE)) {
    if (new RegExp(String.raw`\bstruct\s+${name}\b`).test(text)) continue;
    found.set(`${pkg}/${name}`, `module ${pkg} { module ${kind} { struct ${name} { octet stub; }; }; };`);
  }
  return [...found.values()].join('\n');
}

function fieldLine(type: string, field: IDLMessageDefinitionField, source: Source): string {
  const name = field.name.startsWith(AS_WORD) ? field.name.slice(AS_WORD.length) : field.name;
  const lengths = field.arrayLengths ?? [];
  const isList = field.isArray === true && lengths.length === 0;
  const isPlain = FIELD_TYPES.test(field.type);
  if (lengths.length > 1 || field.enumType !== undefined || (!isPlain && field.isComplex !== true)) {
    const what = lengths.length > 1 ? 'an array of arrays' : `of type ${field.enumType ?? field.type}`;
    throw new DefinitionError(type, `its field ${name} is ${what}, which ROS has no form for`);
  }
  const bound = field.upperBound === undefined ? '' : `<=${field.upperBound}`;
  const array = lengths.length === 1 ? `[${lengths[0]}]` : isList ? `[${listBound(field)}]` : '';
  const fieldType = isPlain ? field.type : field.type.replaceAll('::', '/');
  return `${fieldType}${bound}${array} ${name}${source.defaultOf(field)}`;
}

function listBound({ arrayUpperBound }: IDLMessageDefinitionField): string {
  return arrayUpperBound === undefined ? '' : `<=${arrayUpperBound}`;
}

/** What adjacent string literals hold together. */
function unquoted(literals: string): string {
  const pieces = literals.match(new RegExp(STRING, 'g')) ?? [];
  return pieces.map((piece) => piece.slice(piece.indexOf('"') + 1, -1).replace(/\\(.)/g, escaped)).join('');
}

function escaped(_: string, character: string): string {
  return character === 'n' ? '\n' : character === 't' ? '\t' : character;
}

/** IDL's and Python's words for true and false as .msg has them; anything else as it is. */
function wordOf(literal: string): string {
  return /^(?:true|false)$/i.test(literal) ? literal.toLowerCase() : literal;
}

/** `(False, True,)` as `[false, true]`. */
function listOf(tuple: string): string {
  const inner = tuple
    .trim()
    .replace(/^[([]/, '')
    .replace(/,?\s*[)\]]$/, '');
  return `[${inner.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b(?:True|False)\b/g, wordOf)}]`;
}
