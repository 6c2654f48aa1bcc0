/**
 * Is a document a compose file? Asked of the real Compose schema, as shipped with dclint, and of what compose asks beside it
 * (sense.ts), so that a file that `docker compose` would refuse is refused when it is stored, with the place, not on a robot in
 * the field. What it takes is kept as it came: what JSON in a program of ours would change (a number of too many digits, say)
 * is refused instead.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ApiError, type ErrorDetail, pathText } from '@drover/shared/api/errors';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { inexact } from './exact.js';
import { nonsense } from './sense.js';

const DETAILS_MAX = 20;
/** Of a path and of a message: both quote the document. */
const TEXT_LENGTH_MAX = 500;
/** Of a document as text. In a longer one only the first place is told that is against the schema: to find them all takes seconds. */
const LENGTH_MAX_FOR_ALL = 64 * 1024;
/** As many as a robot may tell of (link/compose-status.ts); far above what one computer runs. */
const SERVICES_MAX = 1000;
/** What a keyword of alternatives says beside what its alternatives said. */
const SUMMARIES: ReadonlySet<string> = new Set(['oneOf', 'anyOf', 'if', 'allOf']);

export type CheckCompose = (content: Record<string, unknown>) => void;

/** Compiles the schema (about 100 ms): once, at the start. The function it returns throws ApiError invalid_request. */
export function composeChecker(): CheckCompose {
  const root = dirname(createRequire(import.meta.url).resolve('dclint/package.json'));
  const schema = JSON.parse(readFileSync(join(root, 'schemas', 'compose.schema.json'), 'utf8')) as object;
  const draft = { ...schema, $schema: 'http://json-schema.org/draft-07/schema#' };
  const validateAll = compileSchema(draft, true);
  let validateToFirst: ValidateFunction | null = null;
  const detailsFor = (content: Record<string, unknown>): ErrorDetail[] => {
    const { services } = content;
    const count = typeof services === 'object' && services !== null ? Object.keys(services).length : 0;
    if (count > SERVICES_MAX) {
      return [{ path: 'content.services', message: `has ${count} services; ${SERVICES_MAX} at most are taken` }];
    }
    const lost = inexact(content, DETAILS_MAX);
    if (lost.length > 0) return lost;
    const isLong = JSON.stringify(content).length > LENGTH_MAX_FOR_ALL;
    if (isLong) validateToFirst ??= compileSchema(draft, false);
    const validate = (isLong ? validateToFirst : null) ?? validateAll;
    if (!validate(content)) return detailsOf(validate.errors ?? []);
    if (count === 0) return [{ path: 'content.services', message: 'a compose file needs at least one service' }];
    return nonsense(content, DETAILS_MAX);
  };
  return (content) => {
    const details = detailsFor(content)
      .slice(0, DETAILS_MAX)
      .map(({ path, message }) => ({ path: shortened(path), message: shortened(message) }));
    const [first] = details;
    if (!first) return;
    const message = `the content is no compose file: ${first.path}: ${first.message}`;
    throw new ApiError('invalid_request', message, { details });
  };
}

function shortened(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}

function compileSchema(schema: object, allErrors: boolean): ValidateFunction {
  const ajv = new Ajv({ allErrors, strict: false, validateSchema: false });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    // Ajv's own compares each with each: minutes, for a list that fits into a request.
    validate: (isAsked: boolean, list: unknown[]) =>
      !isAsked || new Set(list.map((entry) => JSON.stringify(entry))).size === list.length,
    error: { message: 'must not have the same entry twice' },
  });
  return ajv.compile(schema);
}

/** One for each place: a list of alternatives says of each why it is not the one. */
function detailsOf(errors: readonly ErrorObject[]): ErrorDetail[] {
  const telling = errors.filter((error) => !SUMMARIES.has(error.keyword));
  const byPath = new Map<string, Set<string>>();
  for (const error of telling.length > 0 ? telling : errors) {
    const { instancePath } = error;
    const messages = byPath.get(instancePath) ?? new Set();
    // The first are enough: no more places are told of.
    if (messages.size === 0 && byPath.size >= DETAILS_MAX) continue;
    byPath.set(instancePath, messages.add(messageOf(error)));
  }
  return [...byPath].map(([instancePath, messages]) => ({
    path: pathText(['content', ...stepsOf(instancePath)]),
    message: [...messages].slice(0, DETAILS_MAX).join(', or '),
  }));
}

function stepsOf(instancePath: string): (string | number)[] {
  return instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

function messageOf(error: ErrorObject): string {
  const { params } = error;
  if (typeof params.additionalProperty === 'string') {
    return error.instancePath === '/services'
      ? `${JSON.stringify(params.additionalProperty)} is no name of a service: letters, digits, . _ and - are`
      : `unknown field ${params.additionalProperty}`;
  }
  if (Array.isArray(params.allowedValues)) return `must be one of ${params.allowedValues.join(', ')}`;
  if (error.keyword === 'type') return `must be ${[params.type].flat().join(' or ')}`;
  return error.message ?? `refused by ${error.keyword}`;
}
