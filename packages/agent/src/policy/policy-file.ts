import { readComposeRules } from './compose-file.js';
import { type ComposeRules, DEFAULT_COMPOSE_RULES } from './compose-rules.js';
import { checkPattern, namePattern } from './name-pattern.js';
import { type KindRules, NO_RULES, POLICY_KINDS, type PolicyKind, type PolicyRules } from './policy.js';
import { type PolicyProblem, PolicyReader } from './policy-reader.js';

const COMPOSE_KEY = 'compose';
const NAMES = { plural: 'names or patterns', check: checkPattern, make: namePattern };

/** All that agent.yaml says under `policy`. */
export interface RobotPolicy {
  readonly rules: PolicyRules;
  readonly compose: ComposeRules;
}

export const DEFAULT_POLICY: RobotPolicy = { rules: NO_RULES, compose: DEFAULT_COMPOSE_RULES };

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
 *       compose: ...  (compose-file.ts)
 *
 * What is not understood is a problem and never "no rules": a slip of the pen must not open the robot.
 */
export function readPolicy(value: unknown): RobotPolicy & { problems: readonly PolicyProblem[] } {
  const rules: Record<PolicyKind, KindRules> = { ...NO_RULES };
  const reader = new PolicyReader();
  const kinds = reader.mapping(value, 'policy', [...POLICY_KINDS, COMPOSE_KEY]);
  for (const kind of POLICY_KINDS) {
    if (!Object.hasOwn(kinds, kind)) continue;
    const lists = reader.mapping(kinds[kind], `policy.${kind}`, ['allow', 'deny']);
    const list = (name: 'allow' | 'deny') =>
      Object.hasOwn(lists, name) ? reader.rules(lists[name], `policy.${kind}.${name}`, NAMES) : null;
    rules[kind] = { allow: list('allow'), deny: list('deny') ?? [] };
  }
  const compose = Object.hasOwn(kinds, COMPOSE_KEY)
    ? readComposeRules(reader, kinds[COMPOSE_KEY], `policy.${COMPOSE_KEY}`)
    : DEFAULT_COMPOSE_RULES;
  return { rules, compose, problems: reader.problems };
}
