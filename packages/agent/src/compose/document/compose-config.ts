import { parseJson } from '../../parse-json.js';
import { CliLateError, type ComposeCli } from '../docker/cli.js';
import { EngineUnavailableError } from '../docker/engine-error.js';
import { DocumentRefused } from './document.js';

const QUOTED_LENGTH_MAX = 200;

export interface ConfigOptions {
  readonly files: readonly string[];
  readonly signal?: AbortSignal;
  /** How long compose may take. */
  readonly msMax: number;
}

/**
 * What `docker compose config` prints.
 * @throws DocumentRefused (invalid_compose_file) also where it takes compose too long, EngineUnavailableError, CliAbortedError
 */
export async function composeConfig(
  cli: ComposeCli,
  args: readonly string[],
  { files, signal, msMax }: ConfigOptions,
): Promise<string> {
  const run = cli.run(['config', ...args], { files, msMax, ...(signal && { signal }) });
  const end = await run.catch((error: unknown) => {
    if (!(error instanceof CliLateError)) throw error;
    throw refused(`docker compose has not understood it within ${msMax / 1000} s`);
  });
  if (end.kind === 'failed') throw refused(end.words);
  if (end.stdout === null) throw refused('its normal form is larger than 16 MiB');
  return end.stdout;
}

/** A document's normal form. @throws as composeConfig() */
export async function normalForm(cli: ComposeCli, options: ConfigOptions): Promise<object> {
  const text = await composeConfig(cli, ['--format', 'json'], options);
  const document = parseJson(text);
  if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document;
  const said = JSON.stringify(text.slice(0, QUOTED_LENGTH_MAX));
  // The program's fault, not the document's: another one may do.
  throw new EngineUnavailableError(`docker compose config printed what is no JSON object: ${said}`);
}

function refused(message: string): DocumentRefused {
  return new DocumentRefused('invalid_compose_file', [{ rule: 'docker compose', path: 'content', message }]);
}
