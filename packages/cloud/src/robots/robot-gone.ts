/** No such robot any more: its key came from a session or an event that outlived it. */
export class RobotGoneError extends Error {
  override readonly name = 'RobotGoneError';
  constructor(readonly robotKey: number) {
    super(`robot ${robotKey} was deleted`);
  }
}
