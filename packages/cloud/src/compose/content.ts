/**
 * Is a document a compose file? Asked of the real Compose schema, as shipped with dclint, so that a file that `docker compose`
 * would refuse is refused when it is stored, with the place, not on a robot in the field.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ApiError, type ErrorDetail, pathText } from '@drover/shared/api/errors';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';

const DETAILS_MAX = 20;
/** What a keyword of alternatives says beside what its alternatives said. */
const SUMMARIES: ReadonlySet<string> = new Set(['oneOf', 'anyOf', 'if', 'allOf']);

export type CheckCompose = (content: Record<string, unknown>) => void;

/** Compiles the schema (about 100 ms): once, at the start. The function it returns throws ApiError invalid_request. */
export function composeChecker(): CheckCompose {
  const root = dirname(createRequire(import.meta.url).resolve('dclint/package.json'));
  const schema = JSON.parse(readFileSync(join(root, 'schemas', 'compose.schema.json'), 'utf8')) as object;
  const ajv = new Ajv({ allErrors: true, strict: false, validateSchema: false });
  const validate: ValidateFunction = ajv.compile({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' });
  return (content) => {
    const details = validate(content) ? [] : detailsOf(validate.errors ?? []);
    const { services } = content;
    const serviceCount = typeof services === 'object' && services !== null ? Object.keys(services).length : 0;
    if (details.length === 0 && serviceCount === 0) {
      details.push({ path: 'content.services', message: 'a compose file needs at least one service' });
    }
    const [first] = details;
    if (!first) return;
    const message = `the content is no compose file: ${first.path}: ${first.message}`;
    throw new ApiError('invalid_request', message, { details });
  };
}

function detailsOf(errors: readonly ErrorObject[]): ErrorDetail[] {
  const telling = errors.filter((error) => !SUMMARIES.has(error.keyword));
  const details = new Map<string, ErrorDetail>();
  for (const error of telling.length > 0 ? telling : errors) {
    const steps = error.instancePath
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
      .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
    const detail = { path: pathText(['content', ...steps]), message: messageOf(error) };
    details.set(`${detail.path} ${detail.message}`, detail);
  }
  return [...details.values()].slice(0, DETAILS_MAX);
}

function messageOf(error: ErrorObject): string {
  const { params } = error;
  if (typeof params.additionalProperty === 'string') return `unknown field ${params.additionalProperty}`;
  if (Array.isArray(params.allowedValues)) return `must be one of ${params.allowedValues.join(', ')}`;
  return error.message ?? `refused by ${error.keyword}`;
}
