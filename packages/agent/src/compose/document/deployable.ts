import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ZodError } from 'zod';
import { AGENT_LABEL, ROBOT_LABEL } from '../docker/container.js';
import { DeployError } from './deploy-error.js';
import { DocumentRefused } from './document.js';
import { composeText, type PreparedDocument } from './prepare.js';
import { type Service, servicesOf } from './services.js';

/** Ids that tell our containers from all others. */
export interface Owner {
  readonly robot: string;
  readonly agent: string;
}

/** A document that compose understands and the robot allows. */
export interface Deployable {
  /** For compose: the document, and our labels over it. */
  readonly files: readonly string[];
  readonly services: readonly Service[];
}

/** Looks at a document as prepareDocument does. */
export type Prepare = (content: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<PreparedDocument>;

/**
 * Has compose and the robot's policy look at a document, and writes it down for compose; nothing at the engine is touched.
 * @throws DeployError invalid_compose_file | not_allowed, EngineUnavailableError where there is no docker program, CliAbortedError
 */
export async function makeDeployable(
  content: Readonly<Record<string, unknown>>,
  options: { readonly directory: string; readonly owner: Owner; readonly prepare: Prepare },
  signal: AbortSignal,
): Promise<Deployable> {
  const { document, text } = await prepared(content, options.prepare, signal);
  const services = readServices(document);
  if (services.length === 0) {
    const message = 'no service would run: those that there are belong to profiles, which are not active here';
    throw new DeployError('invalid_compose_file', message);
  }
  const { directory, owner } = options;
  const files = [join(directory, 'document.json'), join(directory, 'labels.json')] as const;
  writeFileSync(files[0], text, { mode: 0o600 });
  writeFileSync(files[1], composeText(labels(services, owner)), { mode: 0o600 });
  return { files, services };
}

async function prepared(content: Readonly<Record<string, unknown>>, prepare: Prepare, signal: AbortSignal) {
  try {
    return await prepare(content, signal);
  } catch (error) {
    if (error instanceof DocumentRefused) throw new DeployError(error.code, error.message);
    throw error;
  }
}

function readServices(document: PreparedDocument['document']): Service[] {
  try {
    return servicesOf(document);
  } catch (error) {
    if (!(error instanceof ZodError)) throw error;
    const places = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    throw new DeployError('invalid_compose_file', `compose's normal form is not understood here: ${places}`);
  }
}

function labels(services: readonly Service[], owner: Owner) {
  // A `$` would be filled in, a number would be one.
  const text = (value: string) => value.replaceAll('$', () => '$$');
  const ours = { [ROBOT_LABEL]: text(owner.robot), [AGENT_LABEL]: text(owner.agent) };
  return { services: Object.fromEntries(services.map(({ name }) => [name, { labels: ours }])) };
}
