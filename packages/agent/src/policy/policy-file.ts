import { nearestName } from '@drover/shared/ros/describe-value';
import { checkPattern, namePattern } from './name-pattern.js';
import { type KindRules, NO_RULES, POLICY_KINDS, type PolicyKind, type PolicyRules, type Rule } from './policy.js';

/** More rules than this in one list are a mistake: patterns say the same in fewer. */
const RULES_MAX = 1000;
const RULE_NAME_LENGTH_MAX = 128;

/** One thing that is wrong; `path` is where (`policy.topics.allow[0].match`). */
export interface PolicyProblem {
  readonly path: string;
  readonly message: string;
}

/**
 * The rules that agent.yaml has under `policy`:
 *
 *     policy:
 *       topics:
 *         allow:
 *           - /cmd_vel
 *           - { match: '/arm/**', rule: arm }
 *         deny: [...]
 *       services: ...
 *       actions: ...
 *
 * What is not understood is a problem and never "no rules": a slip of the pen must not open the robot.
 */
export function readPolicy(value: unknown): { rules: PolicyRules; problems: PolicyProblem[] } {
  const problems: PolicyProblem[] = [];
  const rules: Record<PolicyKind, KindRules> = { ...NO_RULES };
  const reader = new Reader(problems);
  const kinds = reader.mapping(value, 'policy', POLICY_KINDS);
  for (const kind of POLICY_KINDS) {
    if (!Object.hasOwn(kinds, kind)) continue;
    const lists = reader.mapping(kinds[kind], `policy.${kind}`, ['allow', 'deny']);
    const list = (name: 'allow' | 'deny') =>
      Object.hasOwn(lists, name) ? reader.list(lists[name], `policy.${kind}.${name}`) : null;
    rules[kind] = { allow: list('allow'), deny: list('deny') ?? [] };
  }
  return { rules, problems };
}

class Reader {
  readonly #problems: PolicyProblem[];

  constructor(problems: PolicyProblem[]) {
    this.#problems = problems;
  }

  mapping(value: unknown, path: string, known: readonly string[]): Record<string, unknown> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#problem(path, `must be a mapping with ${known.join(', ')}`);
      return {};
    }
    for (const key of Object.keys(value)) {
      if (known.includes(key)) continue;
      const near = nearestName(key, known);
      this.#problem(
        `${path}.${key}`,
        near ? `not known; did you mean ${near}?` : `not known; known are ${known.join(', ')}`,
      );
    }
    return value as Record<string, unknown>;
  }

  list(value: unknown, path: string): readonly Rule[] {
    if (!Array.isArray(value)) {
      this.#problem(path, 'must be a list of names or patterns ([] for none)');
      return [];
    }
    if (value.length > RULES_MAX) this.#problem(path, `must have at most ${RULES_MAX} rules`);
    return value.slice(0, RULES_MAX).flatMap((entry: unknown, index) => this.#rule(entry, `${path}[${index}]`));
  }

  #rule(entry: unknown, path: string): Rule[] {
    if (typeof entry === 'string') return this.#pattern(entry, path, path);
    const { match, rule } = this.mapping(entry, path, ['match', 'rule']);
    if (rule !== undefined && (typeof rule !== 'string' || rule === '' || rule.length > RULE_NAME_LENGTH_MAX)) {
      this.#problem(`${path}.rule`, `must be text of 1 to ${RULE_NAME_LENGTH_MAX} characters`);
      return [];
    }
    if (typeof match !== 'string') {
      this.#problem(`${path}.match`, 'must be a name or a pattern');
      return [];
    }
    return this.#pattern(match, `${path}.match`, typeof rule === 'string' ? rule : path);
  }

  #pattern(text: string, path: string, name: string): Rule[] {
    const wrong = checkPattern(text);
    if (wrong === null) return [{ name, pattern: namePattern(text) }];
    this.#problem(path, `${JSON.stringify(text.slice(0, 64))} ${wrong}`);
    return [];
  }

  #problem(path: string, message: string): void {
    this.#problems.push({ path, message });
  }
}
