import { ENGINE_DIRECTORY, REFUSED_MOUNTS, type RefusedPath, refused } from './compose-defaults.js';
import { checkImage } from './compose-image.js';
import type { Judge, Verdict } from './compose-judge.js';
import { KNOWN_KEYS } from './compose-keys.js';
import { boundDirectory } from './compose-resources.js';
import type { ListRule } from './compose-rules.js';
import { cleanPath, isWithin, type PathPattern } from './path-pattern.js';

type Mapping = Readonly<Record<string, unknown>>;

const RULE = 'policy.compose.mounts';

/** A path of the robot that is mounted into a container. */
interface HostMount {
  /** Where the document says so. */
  readonly at: string;
  readonly source: string;
  readonly isReadOnly: boolean;
}

/**
 * Judges every path of the robot that a document mounts, in whatever way it says so: by the path as it is written and by the one
 * that its symbolic links lead to now.
 */
export function checkMounts(judge: Judge, document: Mapping): void {
  const services = judge.mapping(document.services, 'services');
  const volumes = judge.mapping(document.volumes, 'volumes');
  const files = (['configs', 'secrets'] as const).flatMap((kind) => mountedFiles(judge, document[kind], kind));
  const mounts = [...bindMounts(judge, services, volumes), ...boundVolumes(judge, volumes), ...files];
  for (const mount of mounts) judge.apply(mount.at, verdictOn(judge, mount));
  if (!judge.rules.nestedMounts) checkNested(judge, mounts);
}

function bindMounts(judge: Judge, services: Mapping, volumes: Mapping): HostMount[] {
  const found: HostMount[] = [];
  for (const [name, service] of Object.entries(services)) {
    const path = `services.${name}.volumes`;
    const list = judge.list(judge.mapping(service, `services.${name}`).volumes, path);
    for (const [index, value] of list.entries()) {
      const at = `${path}[${index}]`;
      const mount = judge.mapping(value, at);
      checkForm(judge, mount, at);
      const source = judge.text(mount.source, `${at}.source`);
      switch (mount.type) {
        case 'bind':
          found.push({ at, source, isReadOnly: mount.read_only === true });
          break;
        case 'image':
          checkImage(judge, source, `${at}.source`);
          break;
        case 'volume':
          // The engine takes what is no volume's name for a path.
          if (source === '' || Object.hasOwn(volumes, source)) break;
          judge.refuse(RULE, `${at}.source`, `${JSON.stringify(source)} is no volume of the document`);
          break;
        case 'tmpfs':
          break;
        default:
          judge.refuse('unknown_key', `${at}.type`, `the policy does not know mounts of type ${String(mount.type)}`);
      }
    }
  }
  return found;
}

function checkForm(judge: Judge, mount: Mapping, path: string): void {
  judge.knownKeys(mount, path, KNOWN_KEYS.mount);
  judge.knownKeys(judge.mapping(mount.bind, `${path}.bind`), `${path}.bind`, KNOWN_KEYS.bind);
  judge.knownKeys(judge.mapping(mount.volume, `${path}.volume`), `${path}.volume`, KNOWN_KEYS.mountedVolume);
  for (const key of ['source', 'target'] as const) {
    // Compose writes SOURCE:TARGET:MODE for the engine, which would find other parts in it.
    if (!judge.text(mount[key], `${path}.${key}`).includes(':')) continue;
    judge.refuse(RULE, `${path}.${key}`, 'must not hold a colon: the engine reads it as the end of the path');
  }
}

function boundVolumes(judge: Judge, volumes: Mapping): HostMount[] {
  return Object.entries(volumes).flatMap(([name, value]) => {
    const path = `volumes.${name}`;
    const volume = judge.mapping(value, path);
    const source = boundDirectory(judge, volume, path);
    return source === null ? [] : [{ at: `${path}.driver_opts.device`, source, isReadOnly: false }];
  });
}

/** Compose mounts the file of a config or a secret, so that it can be read. */
function mountedFiles(judge: Judge, texts: unknown, kind: 'configs' | 'secrets'): HostMount[] {
  return Object.entries(judge.mapping(texts, kind)).flatMap(([name, text]) => {
    const at = `${kind}.${name}.file`;
    const source = judge.text(judge.mapping(text, `${kind}.${name}`).file, at);
    return source === '' ? [] : [{ at, source, isReadOnly: true }];
  });
}

function verdictOn(judge: Judge, { source, isReadOnly }: HostMount): Verdict {
  if (!source.startsWith('/') || source.includes(':')) {
    return { rule: RULE, message: `${JSON.stringify(source)} is no absolute path of the robot` };
  }
  const forms = formsOf(judge, source);
  if (judge.surroundings.realPath(cleanPath(source)) === null && !isNamed(judge, source)) {
    const remedy = 'let the agent see it, in its container too, or name it under policy.compose.mounts.allow';
    return {
      rule: RULE,
      message: `${source} can't be followed by the agent, so that nobody knows where it leads: ${remedy}`,
    };
  }
  const { secrets, programs, engineSockets } = judge.surroundings;
  const { allow, deny } = judge.rules.mounts;
  const shown = forms.length > 1 ? `${source} (which is ${forms.at(-1)})` : source;
  for (const form of forms) {
    if (reaches(judge, form, secrets) || (!isReadOnly && reaches(judge, form, programs))) {
      return { rule: 'agent_files', message: `${shown} holds files of the agent, which no container gets` };
    }
    const denied = deny.find(({ pattern }) => pattern.covers(form) || pattern.mayBeBelow(form));
    if (denied) {
      const { text } = denied.pattern;
      const message = denied.pattern.covers(form)
        ? `is denied (${text})`
        : `holds ${text}, which is denied: mount what is beside it`;
      return { rule: denied.name, message: `${shown} ${message}` };
    }
  }
  const sockets = engineSockets.flatMap((socket) => formsOf(judge, socket));
  const isSocket = forms.some((form) => sockets.includes(form));
  if (!judge.rules.dockerSocket && forms.some((form) => sockets.some((socket) => isWithin(socket, form)))) {
    const message = `${shown} is, or holds, the Docker Engine's socket: who has it is root on the robot`;
    return { rule: 'policy.compose.docker_socket', message: message };
  }
  // Allowed by its own switch.
  if (isSocket) return null;
  const engines = judge.surroundings.engineDirectories.flatMap((directory) => formsOf(judge, directory));
  const guarded = [...REFUSED_MOUNTS, ...refused(engines, ENGINE_DIRECTORY)];
  for (const form of forms) {
    const allowing = allow?.filter(({ pattern }) => leadsTo(judge, pattern, form)) ?? [];
    if (allow !== null && allowing.length === 0) return { rule: `${RULE}.allow`, message: `no rule allows ${shown}` };
    const found = guarded.find((rule) => isRefused(rule, form, isReadOnly) && !isOpened(rule, form, allowing));
    if (found) {
      const below = found.pattern.covers(form) ? '' : ` (${found.pattern.text})`;
      return { rule: RULE, message: `${shown}${below} ${found.why}` };
    }
  }
  return null;
}

/** Whether the owner lists this very path: who may write to what is above it is the owner's affair. */
function isNamed(judge: Judge, source: string): boolean {
  return judge.rules.mounts.allow?.some(({ pattern }) => cleanPath(pattern.text) === cleanPath(source)) ?? false;
}

/** The path as written, and the one it leads to where that is another. */
function formsOf(judge: Judge, path: string): string[] {
  const clean = cleanPath(path);
  return [...new Set([clean, cleanPath(judge.surroundings.realPath(clean) ?? clean)])];
}

/** Whether one of these is the path, above it or below it. */
function reaches(judge: Judge, path: string, guarded: readonly string[]): boolean {
  return guarded.some((one) => formsOf(judge, one).some((form) => isWithin(form, path) || isWithin(path, form)));
}

function isRefused(rule: RefusedPath, path: string, isReadOnly: boolean): boolean {
  if (rule.mayBeRead && isReadOnly) return false;
  if (rule.pattern.mayBeBelow(path)) return true;
  return rule.onlyItself ? path === rule.pattern.text : rule.pattern.covers(path);
}

/**
 * Whether the owner has opened what is refused by default: by naming the directory or one in it. A pattern that begins with a
 * wildcard, or the root, names none.
 */
function isOpened(rule: RefusedPath, path: string, allowing: readonly ListRule<PathPattern>[]): boolean {
  return allowing.some(({ pattern }) => {
    if (pattern.literal === '/') return false;
    return rule.pattern.covers(pattern.literal) || (!rule.pattern.covers(path) && isWithin(pattern.literal, path));
  });
}

function leadsTo(judge: Judge, pattern: PathPattern, path: string): boolean {
  if (pattern.covers(path)) return true;
  // What the owner lists may itself be a link.
  const real = pattern.text.includes('*') ? null : judge.surroundings.realPath(pattern.literal);
  return real !== null && isWithin(path, cleanPath(real));
}

/**
 * Refuses a path below one that a container may write to: it could put a symbolic link in its place, and the engine, which
 * looks again at each start, would mount what that leads to.
 */
function checkNested(judge: Judge, mounts: readonly HostMount[]): void {
  const real = (path: string) => formsOf(judge, path).at(-1) ?? path;
  const written = [
    ...mounts.filter(({ isReadOnly }) => !isReadOnly).map(({ source, at }) => ({ path: real(source), by: at })),
    ...judge.surroundings.writtenMounts.map((path) => ({ path: real(path), by: 'what runs now' })),
  ];
  for (const { at, source } of mounts) {
    const path = real(source);
    const above = written.find((other) => other.path !== path && isWithin(path, other.path));
    if (!above) continue;
    const message = `${source} is below ${above.path}, which containers write to (${above.by}): they could lead it anywhere`;
    judge.refuse('policy.compose.nested_mounts', at, message);
  }
}
