/** The environment that the docker program and what it starts may see. */
export type DockerEnv = Readonly<Record<string, string>>;

/**
 * PATH, HOME and the DOCKER_* settings, and nothing else of ours: compose puts variables of its environment into documents, and the
 * agent's holds the robot's token.
 */
export function dockerEnv(env: Readonly<Record<string, string | undefined>>): DockerEnv {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (name === 'PATH' || name === 'HOME' || name.startsWith('DOCKER_'))) kept[name] = value;
  }
  return kept;
}
