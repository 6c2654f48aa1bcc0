import type { ComposeRules } from './compose-rules.js';

/** One thing in a document that is not let through. */
export interface Refusal {
  /** What refuses it: a rule of the robot's policy by its name or its key in agent.yaml, or what no document may have. */
  readonly rule: string;
  /** Where in the document: `services.web.privileged`. */
  readonly path: string;
  readonly message: string;
}

/** What of the robot a document is judged against; looked up before, so that judging is pure but for the two looks at the disk. */
export interface Surroundings {
  /** The project's name: what is called after it is its own. */
  readonly project: string;
  /** Files and directories that no container may see: the agent's data, its token, its configuration, docker's credentials. Absolute. */
  readonly secrets: readonly string[];
  /** What the agent runs from: no container may write there. Absolute. */
  readonly programs: readonly string[];
  /** Sockets of the Docker Engine. Absolute. */
  readonly engineSockets: readonly string[];
  /** Names of volumes and networks on the engine that are not of this project. */
  readonly foreignVolumes: ReadonlySet<string>;
  readonly foreignNetworks: ReadonlySet<string>;
  /** The path with its symbolic links followed, as far as it exists. */
  realPath(path: string): string;
  isBlockDevice(path: string): boolean;
}

/**
 * What the robot's policy refuses in a document, all of it; none: it may run. Nothing is touched.
 * @param normalised as `docker compose config --format json` has it, `$$` made `$` again.
 */
export function checkPolicy(
  normalised: Readonly<Record<string, unknown>>,
  rules: ComposeRules,
  surroundings: Surroundings,
): Refusal[] {
  void normalised;
  void rules;
  void surroundings;
  return [];
}
