/** The Docker Engine can't be reached, or there is no docker program: it is waited for. */
export class EngineUnavailableError extends Error {
  override readonly name = 'EngineUnavailableError';
}

/** The engine answered, and refused. */
export class EngineRefusedError extends Error {
  override readonly name = 'EngineRefusedError';
  constructor(
    /** Of its HTTP answer. */
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** What dockerode throws, as one of ours. */
export function engineError(cause: unknown, host: string): EngineUnavailableError | EngineRefusedError {
  if (cause instanceof EngineUnavailableError || cause instanceof EngineRefusedError) return cause;
  const status = field(cause, 'statusCode');
  const message = cause instanceof Error ? cause.message : String(cause);
  if (typeof status === 'number') {
    const said = field(field(cause, 'json'), 'message');
    // Where the answer was a stream, dockerode puts its own words before the engine's.
    const words = typeof said === 'string' ? said : message.replace(/^\(HTTP code \d+\) [a-z ]+ - /, '');
    return new EngineRefusedError(status, words.trim());
  }
  const code = field(cause, 'code');
  const remedy =
    code === 'EACCES'
      ? "the agent's user may not use it: sudo usermod -aG docker USER"
      : code === 'ENOENT' || code === 'ECONNREFUSED'
        ? 'it does not run: sudo systemctl enable --now docker'
        : message;
  return new EngineUnavailableError(`the Docker Engine at ${host} can't be reached: ${remedy}`, { cause });
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
