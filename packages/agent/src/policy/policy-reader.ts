import { nearestName } from '@drover/shared/ros/describe-value';

/** More rules than this in one list are a mistake: patterns say the same in fewer. */
const RULES_MAX = 1000;
const RULE_NAME_LENGTH_MAX = 128;

/** One thing that is wrong; `path` is where (`policy.topics.allow[0].match`). */
export interface PolicyProblem {
  readonly path: string;
  readonly message: string;
}

/** How the text of a rule is understood. */
export interface PatternKind<Pattern> {
  /** What a list of them is of: `names or patterns`. */
  readonly plural: string;
  /** What is wrong with the text; null where nothing is. */
  readonly check: (text: string) => string | null;
  readonly make: (text: string) => Pattern;
}

export interface NamedRule<Pattern> {
  /** As agent.yaml names it, else its place there (`policy.topics.deny[0]`). */
  readonly name: string;
  readonly pattern: Pattern;
}

/** Reads parts of agent.yaml's policy and collects what is wrong with them. */
export class PolicyReader {
  readonly problems: PolicyProblem[] = [];

  mapping(value: unknown, path: string, known: readonly string[]): Record<string, unknown> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.problem(path, `must be a mapping with ${known.join(', ')}`);
      return {};
    }
    for (const key of Object.keys(value)) {
      if (known.includes(key)) continue;
      const near = nearestName(key, known);
      this.problem(
        `${path}.${key}`,
        near ? `not known; did you mean ${near}?` : `not known; known are ${known.join(', ')}`,
      );
    }
    return value as Record<string, unknown>;
  }

  /** Rules of a list: texts, or `{match, rule}` where they have a name. */
  rules<Pattern>(value: unknown, path: string, kind: PatternKind<Pattern>): readonly NamedRule<Pattern>[] {
    return this.#list(value, path, kind.plural).flatMap((entry, index) => this.#rule(entry, `${path}[${index}]`, kind));
  }

  /** Texts without names of their own. */
  patterns<Pattern>(value: unknown, path: string, kind: PatternKind<Pattern>): readonly Pattern[] {
    return this.#list(value, path, kind.plural).flatMap((entry, index) => {
      const at = `${path}[${index}]`;
      return this.#pattern(entry, at, kind).map(({ pattern }) => pattern);
    });
  }

  flag(value: unknown, path: string): boolean {
    if (typeof value === 'boolean') return value;
    this.problem(path, 'must be true or false');
    return false;
  }

  problem(path: string, message: string): void {
    this.problems.push({ path, message });
  }

  #list(value: unknown, path: string, of: string): readonly unknown[] {
    if (!Array.isArray(value)) {
      this.problem(path, `must be a list of ${of} ([] for none)`);
      return [];
    }
    if (value.length > RULES_MAX) this.problem(path, `must have at most ${RULES_MAX} rules`);
    return value.slice(0, RULES_MAX);
  }

  #rule<Pattern>(entry: unknown, path: string, kind: PatternKind<Pattern>): NamedRule<Pattern>[] {
    if (typeof entry !== 'object') return this.#pattern(entry, path, kind);
    const { match, rule } = this.mapping(entry, path, ['match', 'rule']);
    if (rule !== undefined && (typeof rule !== 'string' || rule === '' || rule.length > RULE_NAME_LENGTH_MAX)) {
      this.problem(`${path}.rule`, `must be text of 1 to ${RULE_NAME_LENGTH_MAX} characters`);
      return [];
    }
    return this.#pattern(match, `${path}.match`, kind, typeof rule === 'string' ? rule : path);
  }

  #pattern<Pattern>(entry: unknown, path: string, kind: PatternKind<Pattern>, name = path): NamedRule<Pattern>[] {
    // YAML reads 8080 as a number.
    const text = typeof entry === 'number' ? String(entry) : entry;
    if (typeof text !== 'string') {
      this.problem(path, `must be text, one of ${kind.plural}`);
      return [];
    }
    const wrong = kind.check(text);
    if (wrong === null) return [{ name, pattern: kind.make(text) }];
    this.problem(path, `${JSON.stringify(text.slice(0, 64))} ${wrong}`);
    return [];
  }
}
