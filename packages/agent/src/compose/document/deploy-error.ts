import type { RobotComposeErrorCode } from '@drover/shared/api/compose';

/** A step of a deployment failed for good: it is not tried again by itself. */
export class DeployError extends Error {
  override readonly name = 'DeployError';
  constructor(
    readonly code: RobotComposeErrorCode,
    message: string,
    /** What docker and compose said. */
    readonly words: string | null = null,
  ) {
    super(message);
  }
}
