import type { Refusal } from '../../policy/compose.js';
import { checkNesting, checkPortCount } from './expansion.js';

/** The document can't run here, or may not. */
export class DocumentRefused extends Error {
  override readonly name = 'DocumentRefused';
  constructor(
    readonly code: 'invalid_compose_file' | 'not_allowed',
    readonly refusals: readonly Refusal[],
  ) {
    super(refusals.map(({ rule, path, message }) => `${path}: ${message} (${rule})`).join('; '));
  }
}

type Mapping = Readonly<Record<string, unknown>>;

/** More is no help to anyone. */
const REFUSALS_MAX = 100;

/**
 * What of a document can't work from its JSON alone (files beside it, builds, variables), or would take compose too long. To be asked before compose gets to see
 * the document: compose reads such files, fetches such documents from the network, and shows them in its errors.
 */
export function checkSelfContained(content: Mapping): Refusal[] {
  const found: Refusal[] = [];
  const refuse: Refuse = (rule, path, message) => {
    if (found.length < REFUSALS_MAX) found.push({ rule, path: path.slice(0, 256), message });
  };
  if (isGiven(content.include)) refuse('files', 'include', `${NO_FILES}: put what it includes into this document`);
  for (const [name, service] of Object.entries(mapping(content.services))) {
    checkService(mapping(service), `services.${name}`, refuse);
  }
  for (const [name, volume] of Object.entries(mapping(content.volumes))) {
    const device = mapping(mapping(volume).driver_opts).device;
    if (isRelative(device)) refuse('files', `volumes.${name}.driver_opts.device`, NOT_ABSOLUTE);
  }
  for (const kind of ['configs', 'secrets'] as const) {
    for (const [name, value] of Object.entries(mapping(content[kind]))) checkText(kind, name, mapping(value), refuse);
  }
  checkPortCount(portsOf(content), refuse);
  checkVariables(content, '', refuse);
  return found;
}

export type Refuse = (rule: string, path: string, message: string) => void;

const NO_FILES = 'a robot gets this document only, no files beside it';
const NOT_ABSOLUTE = 'must be an absolute path of the robot: there is no directory beside the document';

/** Keys of a service that stand for files, each with what to do instead. */
const FILE_KEYS: Readonly<Record<string, string>> = {
  build: 'build and push the image elsewhere, and keep only image',
  develop: 'leave it out: it is for development',
  env_file: 'write the variables under environment',
  label_file: 'write the labels under labels',
  credential_spec: 'leave it out',
};

function checkService(service: Mapping, path: string, refuse: Refuse): void {
  for (const [key, remedy] of Object.entries(FILE_KEYS)) {
    if (isGiven(service[key])) refuse('files', `${path}.${key}`, `${NO_FILES}: ${remedy}`);
  }
  if (isGiven(mapping(service.extends).file)) {
    refuse(
      'files',
      `${path}.extends.file`,
      `${NO_FILES}: extend a service of this document (extends: {service: NAME})`,
    );
  }
  for (const [index, mount] of list(service.volumes).entries()) {
    const isLong = typeof mount === 'object';
    const source = isLong ? mapping(mount).source : String(mount).split(':', 1)[0];
    // Alone, it is the path in the container.
    const isBind = isLong ? mapping(mount).type === 'bind' : String(mount).includes(':');
    if (isBind && isRelative(source)) refuse('files', `${path}.volumes[${index}]`, NOT_ABSOLUTE);
  }
  checkEnvironment(service.environment, `${path}.environment`, refuse);
}

/** Variables that are to be passed on from an environment that is empty. */
function checkEnvironment(environment: unknown, path: string, refuse: Refuse): void {
  const message = "has no value, and none is taken from the robot's environment: give it one";
  for (const [index, entry] of list(environment).entries()) {
    if (typeof entry === 'string' && !entry.includes('='))
      refuse('environment', `${path}[${index}]`, `${entry} ${message}`);
  }
  for (const [name, value] of Object.entries(mapping(environment))) {
    if (value === null) refuse('environment', `${path}.${name}`, message);
  }
}

function checkText(kind: 'configs' | 'secrets', name: string, text: Mapping, refuse: Refuse): void {
  const path = `${kind}.${name}`;
  // Compose knows no content of secrets.
  const instead = kind === 'configs' ? 'write the text under content' : 'make it a config with content';
  // An absolute one is a file that was put on the robot before: a mount, which the policy judges.
  if (isGiven(text.file) && !(typeof text.file === 'string' && /^[/$]/.test(text.file))) {
    refuse('files', `${path}.file`, `${NO_FILES}: ${instead}, or the absolute path of a file on the robot`);
  }
  if (isGiven(text.environment)) {
    refuse('environment', `${path}.environment`, `nothing is taken from the robot's environment: ${instead}`);
  }
  if (isGiven(text.external)) refuse('files', `${path}.external`, `only a swarm has such: ${instead}`);
}

/** Names that compose's own environment has a value for, whatever default a document gives. */
const OF_THE_AGENT = /^(PATH|HOME|PWD|DOCKER_.*|COMPOSE_(?!PROJECT_NAME$).*)$/i;
const PROJECT_NAME = 'COMPOSE_PROJECT_NAME';

function checkVariables(value: unknown, path: string, refuse: Refuse): void {
  if (typeof value === 'string') {
    checkNesting(value, path, refuse);
    for (const { name, hasDefault } of variablesIn(value)) {
      if (OF_THE_AGENT.test(name)) {
        refuse(
          'variables',
          path,
          `\${${name}} is the agent's own: write the value itself, and a $ that is meant as $$`,
        );
      } else if (!hasDefault && name !== PROJECT_NAME) {
        const remedy = `write the value itself, or a default (\${${name}:-value}), and a $ that is meant as $$`;
        refuse('variables', path, `\${${name}} has no value on a robot: ${remedy}`);
      }
    }
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) checkVariables(element, `${path}[${index}]`, refuse);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value))
      checkVariables(inner, path === '' ? key : `${path}.${key}`, refuse);
  }
}

/**
 * The variables that compose would fill in: `$NAME`, `${NAME}`, `${NAME:-default}` and its kin, also within a default; `$$` is none.
 * What is neither is compose's to refuse.
 */
export function variablesIn(text: string): { name: string; hasDefault: boolean }[] {
  return [...text.matchAll(/\$\$|\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)(:?[-+])?/g)].flatMap(
    ([, plain, braced, operator]) => {
      const name = plain ?? braced;
      return name === undefined ? [] : [{ name, hasDefault: operator !== undefined }];
    },
  );
}

function* portsOf(content: Mapping): Generator<[path: string, port: unknown]> {
  for (const [name, service] of Object.entries(mapping(content.services))) {
    for (const [index, port] of list(mapping(service).ports).entries())
      yield [`services.${name}.ports[${index}]`, port];
  }
}

function isRelative(source: unknown): boolean {
  return typeof source === 'string' && /^[.~]/.test(source);
}

function isGiven(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function mapping(value: unknown): Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Mapping) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
