/**
 * What docker compose refuses and the Compose schema lets through: names of nothing, services that wait for each other, durations
 * and ports that are none. Only what compose refuses always: where a value comes from a variable, the part of it is left to
 * the robot's own compose, and so is what a service that only a profile starts says.
 */
import { type ErrorDetail, pathText } from '@drover/shared/api/errors';
import { isDuration, portTrouble } from './sense-values.js';

type Fields = Readonly<Record<string, unknown>>;
type Step = string | number;

/** A document that the schema takes. At most `placesMax` places are told of. */
export function nonsense(content: Fields, placesMax: number): ErrorDetail[] {
  const found: ErrorDetail[] = [];
  const say = (path: readonly Step[], message: string) => {
    if (found.length < placesMax) found.push({ path: pathText(['content', ...path]), message });
  };
  // What is included may define anything.
  if (content.include !== undefined) return found;
  const services = fieldsOf(content.services);
  for (const [name, service] of Object.entries(services)) {
    if (found.length >= placesMax) return found;
    const fields = fieldsOf(service);
    if (listOf(fields.profiles).length > 0) continue;
    const at = ['services', name];
    sayOfImage(fields, (message) => say(at, message));
    sayOfUndefined(fields, content, (path, message) => say([...at, ...path], message));
    sayOfValues(fields, (path, message) => say([...at, ...path], message));
  }
  for (const kind of ['configs', 'secrets'] as const) {
    for (const [name, definition] of Object.entries(fieldsOf(content[kind]))) {
      const message = sourceTrouble(fieldsOf(definition), kind);
      if (message !== null) say([kind, name], message);
    }
  }
  if (found.length === 0) {
    const cycle = cycleOf(services);
    if (cycle) say(['services', cycle[0] ?? ''], `waits for itself: ${cycle.join(' → ')}`);
  }
  return found;
}

type Say = (path: readonly Step[], message: string) => void;

function sayOfImage(service: Fields, say: (message: string) => void): void {
  const hasSource = ['build', 'provider', 'extends'].some((key) => service[key] !== undefined);
  if (!hasSource && (service.image === undefined || service.image === '')) say('needs an image');
  const { network_mode: mode, networks } = service;
  const isNetworked = Array.isArray(networks) ? networks.length > 0 : Object.keys(fieldsOf(networks)).length > 0;
  if (mode !== undefined && isNetworked) say('has network_mode and networks: only one of them works');
}

/** Names that stand for something the document does not have. */
function sayOfUndefined(service: Fields, content: Fields, say: Say): void {
  const isService = (name: string) => Object.hasOwn(fieldsOf(content.services), name);
  for (const { path, name, mayMiss } of servicesNamed(service)) {
    if (!mayMiss && !isKnown(name, isService)) say(path, `there is no service ${name}`);
  }
  const { extends: base, networks, volumes } = service;
  const extended = typeof base === 'string' ? base : fieldsOf(base).file === undefined && fieldsOf(base).service;
  if (typeof extended === 'string' && !isKnown(extended, isService)) {
    say(['extends'], `there is no service ${extended}`);
  }
  for (const [step, name] of Array.isArray(networks) ? [...networks.entries()] : keysOf(networks)) {
    const defined = (one: string) => one === 'default' || Object.hasOwn(fieldsOf(content.networks), one);
    if (typeof name === 'string' && !isKnown(name, defined)) say(['networks', step], missing('network', name));
  }
  for (const [index, volume] of listOf(volumes).entries()) {
    const name = volumeNamed(volume);
    const defined = (one: string) => Object.hasOwn(fieldsOf(content.volumes), one);
    if (name !== null && !isKnown(name, defined)) say(['volumes', index], missing('volume', name));
  }
  for (const kind of ['configs', 'secrets'] as const) {
    for (const [index, entry] of listOf(service[kind]).entries()) {
      const name = typeof entry === 'string' ? entry : (fieldsOf(entry).source ?? '');
      const defined = (one: string) => Object.hasOwn(fieldsOf(content[kind]), one);
      if (typeof name === 'string' && !isKnown(name, defined)) {
        say([kind, index], missing(kind.slice(0, -1), name));
      }
    }
  }
}

function missing(kind: string, name: string): string {
  return `there is no ${kind} ${name} in the file's own ${kind}s`;
}

interface Named {
  readonly path: readonly Step[];
  readonly name: string;
  readonly mayMiss?: boolean;
}

/** The services that a service waits for. */
function servicesNamed(service: Fields): Named[] {
  const named: Named[] = [];
  const { depends_on: waits } = service;
  if (Array.isArray(waits)) {
    for (const [index, name] of waits.entries()) named.push({ path: ['depends_on', index], name: String(name) });
  } else {
    for (const [name, how] of Object.entries(fieldsOf(waits))) {
      named.push({ path: ['depends_on', name], name, mayMiss: fieldsOf(how).required === false });
    }
  }
  for (const key of ['links', 'volumes_from']) {
    for (const [index, link] of listOf(service[key]).entries()) {
      const [name = '', ...rest] = String(link).split(':');
      if (name !== 'container' || rest.length === 0) named.push({ path: [key, index], name });
    }
  }
  for (const key of ['network_mode', 'ipc', 'pid']) {
    const value = service[key];
    if (typeof value === 'string' && value.startsWith('service:')) named.push({ path: [key], name: value.slice(8) });
  }
  return named;
}

/** The named volume that an entry of `volumes` mounts; null where it mounts another thing. */
function volumeNamed(volume: unknown): string | null {
  if (typeof volume === 'string') {
    const [source = '', ...rest] = volume.split(':');
    // Compose takes one letter for a drive of Windows.
    const isPath = /^[./~\\]/.test(source) || source.length <= 1;
    return rest.length === 0 || isPath ? null : source;
  }
  const { type, source } = fieldsOf(volume);
  return type === 'volume' && typeof source === 'string' && source !== '' && !source.startsWith('/') ? source : null;
}

const DURATIONS: readonly (readonly string[])[] = [
  ['stop_grace_period'],
  ...['interval', 'timeout', 'start_period', 'start_interval'].map((key) => ['healthcheck', key]),
  ...['update_config', 'rollback_config'].flatMap((key) => [
    ['deploy', key, 'delay'],
    ['deploy', key, 'monitor'],
  ]),
  ['deploy', 'restart_policy', 'delay'],
  ['deploy', 'restart_policy', 'window'],
];

function sayOfValues(service: Fields, say: Say): void {
  for (const path of DURATIONS) {
    const value = path.reduce<unknown>((within, key) => fieldsOf(within)[key], service);
    if (typeof value === 'string' && !value.includes('$') && !isDuration(value)) {
      say(path, `${JSON.stringify(value)} is no duration; write 90s, 1m30s, 500ms`);
    }
  }
  for (const [index, port] of listOf(service.ports).entries()) {
    const trouble = portTrouble(port);
    if (trouble !== null) say(['ports', index], trouble);
  }
  const test = fieldsOf(service.healthcheck).test;
  if (Array.isArray(test) && test.length > 0 && !isKnown(String(test[0]), (one) => HEALTH_TESTS.has(one))) {
    say(['healthcheck', 'test', 0], 'must be CMD, CMD-SHELL or NONE; a string runs in the shell');
  }
}

const HEALTH_TESTS: ReadonlySet<string> = new Set(['CMD', 'CMD-SHELL', 'NONE']);
const SOURCES = ['file', 'environment', 'content', 'external', 'driver', 'template_driver'];

function sourceTrouble(definition: Fields, kind: 'configs' | 'secrets'): string | null {
  const given = SOURCES.filter((key) => definition[key] !== undefined && definition[key] !== false);
  const [first, second] = given.filter((key) => key === 'file' || key === 'environment' || key === 'content');
  if (first !== undefined && second !== undefined) return `has ${first} and ${second}: only one of them works`;
  if (given.length > 0) return null;
  // Compose takes more (environment, external), none of which a robot gives a document.
  const file = 'file, the absolute path of one on the robot';
  return kind === 'configs' ? `needs content (or ${file})` : `needs ${file}`;
}

/** A round of services each of which waits for the next; undefined where there is none. */
function cycleOf(services: Fields): string[] | undefined {
  const done = new Set<string>();
  // Sets keep their order.
  const onPath = new Set<string>();
  const visit = (name: string): string[] | undefined => {
    if (onPath.has(name)) return [...[...onPath].slice([...onPath].indexOf(name)), name];
    if (done.has(name) || !Object.hasOwn(services, name)) return undefined;
    onPath.add(name);
    for (const next of servicesNamed(fieldsOf(services[name]))) {
      const cycle = visit(next.name);
      if (cycle) return cycle;
    }
    onPath.delete(name);
    done.add(name);
    return undefined;
  };
  for (const name of Object.keys(services)) {
    const cycle = visit(name);
    if (cycle) return cycle;
  }
  return undefined;
}

/** What holds a variable may become anything. */
function isKnown(name: string, isDefined: (name: string) => boolean): boolean {
  return name.includes('$') || isDefined(name);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function keysOf(value: unknown): [string, string][] {
  return Object.keys(fieldsOf(value)).map((key) => [key, key]);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
