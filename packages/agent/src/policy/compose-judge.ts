import { REFUSED_KEYS } from './compose-keys.js';
import type { ComposeRules, TextPattern } from './compose-rules.js';

/** One thing in a document that is not let through. */
export interface Refusal {
  /** What refuses it: a rule by its name in agent.yaml, the key there that would allow it, or what no document may have. */
  readonly rule: string;
  /** Where in the document: `services.web.privileged`. */
  readonly path: string;
  readonly message: string;
}

/** Why one thing is refused; null where it is not. */
export type Verdict = { readonly rule: string; readonly message: string } | null;

/** What of the robot a document is judged against; looked up before, so that judging is pure but for looks at the disk. */
export interface Surroundings {
  /** Files and directories that no container may see: the agent's data, its token, its configuration, docker's credentials. Absolute. */
  readonly secrets: readonly string[];
  /** What the agent runs from: no container may write there. Absolute. */
  readonly programs: readonly string[];
  /** Sockets of the Docker Engine. Absolute. */
  readonly engineSockets: readonly string[];
  /** Where the engine keeps its containers and volumes, those of others too. Absolute. */
  readonly engineDirectories: readonly string[];
  /** Names of volumes and networks on the engine that are not of this project. */
  readonly foreignVolumes: ReadonlySet<string>;
  readonly foreignNetworks: ReadonlySet<string>;
  /** Directories of the robot that containers of this project write to now. */
  readonly writtenMounts: readonly string[];
  /** The path with its symbolic links followed, as far as it exists; null where the agent can't look. */
  realPath(path: string): string | null;
  isBlockDevice(path: string): boolean;
}

/** More is no help to anyone. */
const REFUSALS_MAX = 100;
const MESSAGE_LENGTH_MAX = 1024;

type Mapping = Readonly<Record<string, unknown>>;

/** Collects what is refused in a document, and reads its parts: a form that it does not know is refused as well. */
export class Judge {
  readonly refusals: Refusal[] = [];

  constructor(
    readonly rules: ComposeRules,
    readonly surroundings: Surroundings,
  ) {}

  refuse(rule: string, path: string, message: string): void {
    const isSaid = this.refusals.some((said) => said.rule === rule && said.path === path);
    if (isSaid || this.refusals.length >= REFUSALS_MAX) return;
    this.refusals.push({ rule, path: path.slice(0, 256), message: message.slice(0, MESSAGE_LENGTH_MAX) });
  }

  apply(path: string, verdict: Verdict): void {
    if (verdict) this.refuse(verdict.rule, path, verdict.message);
  }

  /** Refuses keys whose meaning this agent does not know; extensions (`x-…`) have none. */
  knownKeys(value: Mapping, path: string, known: readonly string[]): void {
    for (const [key, inner] of Object.entries(value)) {
      if (known.includes(key) || key.startsWith('x-') || isNothing(inner)) continue;
      const why = REFUSED_KEYS[key];
      const message = why ?? 'is not known to this agent, so that its policy can not judge it: leave it out';
      this.refuse(why === undefined ? 'unknown_key' : key, path === '' ? key : `${path}.${key}`, message);
    }
  }

  mapping(value: unknown, path: string): Mapping {
    if (value === undefined || value === null) return {};
    if (typeof value === 'object' && !Array.isArray(value)) return value as Mapping;
    this.#unknownForm(path, 'a mapping');
    return {};
  }

  list(value: unknown, path: string): readonly unknown[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.#unknownForm(path, 'a list');
    return [];
  }

  texts(value: unknown, path: string): readonly { readonly text: string; readonly path: string }[] {
    return this.list(value, path).flatMap((text, index) => {
      const at = `${path}[${index}]`;
      if (typeof text === 'string') return [{ text, path: at }];
      this.#unknownForm(at, 'text');
      return [];
    });
  }

  /** The empty text where there is none. */
  text(value: unknown, path: string): string {
    if (value === undefined || value === null) return '';
    if (typeof value === 'string') return value;
    this.#unknownForm(path, 'text');
    return '';
  }

  #unknownForm(path: string, wanted: string): void {
    this.refuse('unknown_key', path, `is no ${wanted}, so that the robot's policy can not judge it`);
  }
}

export function isAllowedText(patterns: readonly TextPattern[], text: string): boolean {
  return patterns.some((pattern) => pattern.matches(text));
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
