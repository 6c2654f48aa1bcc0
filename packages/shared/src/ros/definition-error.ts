/** Why a type's definition can't be used. */

/** A type that the source of definitions does not have. */
export class UndefinedTypeError extends Error {
  override readonly name = 'UndefinedTypeError';
  constructor(
    readonly type: string,
    /** The type whose definition named it; null when it was asked for itself. */
    readonly referredBy: string | null,
  ) {
    super(referredBy === null ? `no definition of ${type}` : `no definition of ${type}, which ${referredBy} contains`);
  }
}

/** A definition that breaks the rules of ROS interface definitions, or a bound of ours. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError';
  constructor(
    readonly type: string,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`the definition of ${type} can't be used: ${reason}`, options);
  }
}
