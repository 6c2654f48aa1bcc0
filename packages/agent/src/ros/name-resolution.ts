import { checkRosName, isAbsoluteName, resolveName } from '@drover/shared/ros/names';
import { AGENT_NODE_NAME } from './agent-nodes.js';

/** A static remap as ros2 has it, `FROM:=TO`; each side absolute, relative or private. */
export interface RemapRule {
  readonly from: string;
  readonly to: string;
}

/** More of them are taken for a mistake. */
export const REMAP_RULES_MAX = 100;
/** Leaves ROS room for the nodes' own names. */
const NAMESPACE_LENGTH_MAX = 200;

/**
 * How names are meant on this robot: a relative one is in the agent's namespace, a private one (`~/x`) below its node, and
 * what is then the left side of a remap, resolved likewise, is its right side instead. As in ros2 the first rule that fits
 * wins and its outcome is not remapped again. Topics, services and actions alike, an action by its own name.
 */
export class NameResolver {
  /** `/` or `/a/b`. */
  readonly namespace: string;
  readonly #remaps = new Map<string, string>();

  constructor(namespace = '/', rules: readonly RemapRule[] = []) {
    this.namespace = namespace;
    for (const rule of rules) {
      const from = this.#expand(rule.from);
      if (!this.#remaps.has(from)) this.#remaps.set(from, this.#expand(rule.to));
    }
  }

  /** Full name of the agent's node. */
  get node(): string {
    return this.#expand('~');
  }

  /** The absolute name that a valid name means. */
  resolve(name: string): string {
    const expanded = this.#expand(name);
    return this.#remaps.get(expanded) ?? expanded;
  }

  #expand(name: string): string {
    return resolveName(name, this.namespace, AGENT_NODE_NAME);
  }
}

/** The agent in the root namespace, nothing remapped. */
export const ROOT_NAMES = new NameResolver();

/** What is wrong with a node's namespace, null when nothing is. */
export function checkNamespace(namespace: string): string | null {
  if (namespace === '/') return null;
  if (!isAbsoluteName(namespace)) return 'a namespace begins with /, as /robot_1 does';
  if (namespace.length > NAMESPACE_LENGTH_MAX) {
    return `a namespace must have at most ${NAMESPACE_LENGTH_MAX} characters, this one has ${namespace.length}`;
  }
  return checkRosName(namespace)?.replace('a ROS name', 'a namespace') ?? null;
}

/** Reads `FROM:=TO`; a text is what is wrong with it. */
export function readRemapRule(text: string): RemapRule | string {
  const parts = text.split(':=');
  const [from = '', to = ''] = parts;
  if (parts.length !== 2 || from === '' || to === '') return `${quote(text)} is no remap: write FROM:=TO`;
  if (from === '__ns')
    return `${quote(text)} is no remap: the namespace is a setting of its own (DROVER_ROS_NAMESPACE)`;
  if (from === '__node' || from === '__name') {
    return `${quote(text)} is no remap: the agent's node is always ${AGENT_NODE_NAME}`;
  }
  // `rostopic://a`, `rosservice://a` and `node:a` of ros2: here every rule is for the one node and for all kinds.
  if (from.includes(':')) return `${quote(text)} names a node or a kind: a rule here is for all kinds, FROM:=TO`;
  for (const side of [from, to]) {
    const wrong = checkRosName(side);
    if (wrong !== null) return `${quote(text)} is no remap: ${wrong}`;
  }
  return { from, to };
}

function quote(text: string): string {
  return JSON.stringify(text.length <= 200 ? text : `${text.slice(0, 199)}…`);
}
