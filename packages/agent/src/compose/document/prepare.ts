import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPolicy, type Refusal, type Surroundings } from '../../policy/compose.js';
import type { ComposeRules } from '../../policy/compose-rules.js';
import { type CliOptions, ComposeCli } from '../docker/cli.js';
import { normalForm } from './compose-config.js';
import { checkSelfContained, DocumentRefused } from './document.js';

export interface PrepareOptions {
  /** Of the agent's ComposeCli; only a scratch file is written into the directory, which exists. */
  readonly cli: CliOptions;
  readonly rules: ComposeRules;
  /** What is around it now. */
  readonly lookAround: () => Promise<Surroundings>;
  readonly signal?: AbortSignal;
  /** How long compose may take to understand the document. */
  readonly configMsMax: number;
}

/** A document in the form that compose itself gives it: what was judged and what is run are the same text. */
export interface PreparedDocument {
  /** Variables are filled in: a `$` in it is meant as it stands. */
  readonly document: Readonly<Record<string, unknown>>;
  /** To be written to the file that compose gets. In it a `$` is `$$`. */
  readonly text: string;
}

const SCRATCH_FILE = 'candidate.json';

/**
 * Looks at a document, has compose make its normal form in an environment without anything in it, and judges that by the
 * robot's policy. What is run must be the prepared text: compose would fill variables of its later environment into the original.
 * @throws DocumentRefused, EngineUnavailableError, CliAbortedError
 */
export async function prepareDocument(
  content: Readonly<Record<string, unknown>>,
  options: PrepareOptions,
): Promise<PreparedDocument> {
  const { refusals, ...prepared } = await examineDocument(content, options);
  refuseIfAny('not_allowed', refusals);
  return prepared;
}

/**
 * As prepareDocument, but what the policy refuses is told beside the document, which must not be run then.
 * @throws DocumentRefused (invalid_compose_file), EngineUnavailableError, CliAbortedError
 */
export async function examineDocument(
  content: Readonly<Record<string, unknown>>,
  { cli, rules, lookAround, signal, configMsMax }: PrepareOptions,
): Promise<PreparedDocument & { refusals: readonly Refusal[] }> {
  refuseIfAny('invalid_compose_file', checkSelfContained(content));
  const file = join(cli.directory, SCRATCH_FILE);
  writeFileSync(file, composeText(content), { mode: 0o600 });
  const compose = new ComposeCli({ ...cli, env: environmentForDocuments(cli.env) });
  const options = { files: [file], msMax: configMsMax, ...(signal && { signal }) };
  const document = withoutEscapes(await normalForm(compose, options)) as Record<string, unknown>;
  const refusals = checkPolicy(document, rules, await lookAround());
  return { document, text: composeText(withEscapes(document)), refusals };
}

function refuseIfAny(code: DocumentRefused['code'], refusals: readonly Refusal[]): void {
  if (refusals.length > 0) throw new DocumentRefused(code, refusals);
}

/** What the docker program needs to find its plugin; nothing that is worth knowing. */
function environmentForDocuments(env: CliOptions['env']): CliOptions['env'] {
  const kept = ['PATH', 'HOME', 'DOCKER_CONFIG'];
  return Object.fromEntries(Object.entries(env).filter(([name]) => kept.includes(name)));
}

/** JSON that is YAML as well: YAML folds Unicode's line breaks and takes no control characters but in escapes. */
export function composeText(document: unknown): string {
  const unsafe = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
  return JSON.stringify(document).replace(unsafe, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Compose writes `$` as `$$`, in names too, where it does not read it so. */
function withoutEscapes(value: unknown): unknown {
  return mapTexts(value, (text) => text.replaceAll('$$', () => '$'), { keys: true });
}

function withEscapes(value: unknown): unknown {
  return mapTexts(value, (text) => text.replaceAll('$', () => '$$'), { keys: false });
}

function mapTexts(value: unknown, map: (text: string) => string, options: { keys: boolean }): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((element) => mapTexts(element, map, options));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    options.keys ? map(key) : key,
    mapTexts(inner, map, options),
  ]);
  return Object.fromEntries(entries);
}
