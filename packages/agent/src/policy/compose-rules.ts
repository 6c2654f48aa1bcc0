/** What agent.yaml says under `policy.compose`. */
export interface ComposeRules {
  readonly privileged: boolean;
}

export const DEFAULT_COMPOSE_RULES: ComposeRules = { privileged: false };
