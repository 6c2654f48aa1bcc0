import type { CommandInterface } from '@drover/shared/link/command';
import type { NamePattern } from './name-pattern.js';

/** The kinds of interfaces, as agent.yaml calls them. */
export const POLICY_KINDS = ['topics', 'services', 'actions'] as const;
export type PolicyKind = (typeof POLICY_KINDS)[number];

export interface Rule {
  /** As agent.yaml names it, else its place there (`policy.topics.deny[0]`). */
  readonly name: string;
  readonly pattern: NamePattern;
}

export interface KindRules {
  /** Null: everything. */
  readonly allow: readonly Rule[] | null;
  readonly deny: readonly Rule[];
}

export type PolicyRules = Readonly<Record<PolicyKind, KindRules>>;

const EVERYTHING: KindRules = { allow: null, deny: [] };
export const NO_RULES: PolicyRules = { topics: EVERYTHING, services: EVERYTHING, actions: EVERYTHING };

/** The robot's own policy refuses this; the message names the rule. */
export class NotAllowedError extends Error {
  override readonly name = 'NotAllowedError';
  constructor(
    readonly interfaceName: string,
    /** Null where no rule allows it. */
    readonly rule: string | null,
    message: string,
  ) {
    super(message);
  }
}

const KIND_OF: Readonly<Record<CommandInterface, PolicyKind>> = {
  topic: 'topics',
  service: 'services',
  action_send_goal: 'actions',
};
const SINGULAR: Readonly<Record<PolicyKind, string>> = { topics: 'topic', services: 'service', actions: 'action' };

/** Part of the names of the topics and services that an action is made of. */
const ACTION_PART = '/_action/';

/**
 * What the cloud may do to this robot, whatever way it comes in. A deny rule always wins; where a kind has an allow list,
 * only what is on it is allowed; without rules everything is. Decides on fully resolved names.
 */
export class Policy {
  readonly #rules: PolicyRules;

  constructor(rules: PolicyRules) {
    this.#rules = rules;
  }

  /**
   * @param name fully resolved.
   * @throws NotAllowedError
   */
  check(target: { readonly interface: CommandInterface; readonly name: string }): void {
    const { name } = target;
    this.#check(KIND_OF[target.interface], name);
    // What an action is made of is a way around what is said of the action.
    for (let at = name.indexOf(ACTION_PART, 1); at > 0; at = name.indexOf(ACTION_PART, at + 1)) {
      this.#check('actions', name.slice(0, at));
    }
  }

  /** In a few words, for who looks after the robot. */
  summary(): string {
    const words = POLICY_KINDS.map((kind) => {
      const { allow, deny } = this.#rules[kind];
      const allowed = allow === null ? 'all allowed' : `${allow.length} allowed`;
      return `${kind} ${allowed}${deny.length === 0 ? '' : `, ${deny.length} denied`}`;
    });
    return words.join('; ');
  }

  #check(kind: PolicyKind, name: string): void {
    const { allow, deny } = this.#rules[kind];
    const what = `the ${SINGULAR[kind]} ${name}`;
    const denied = deny.find(({ pattern }) => pattern.matches(name));
    if (denied) {
      const message = `the robot's policy denies ${what}: rule ${denied.name} (${denied.pattern.text})`;
      throw new NotAllowedError(name, denied.name, message);
    }
    if (allow === null || allow.some(({ pattern }) => pattern.matches(name))) return;
    throw new NotAllowedError(name, null, `the robot's policy does not allow ${what}: no rule of policy.${kind}.allow`);
  }
}
