/** Which robot this is, in the cloud's words. */
export interface RobotIdentity {
  readonly id: string;
  /** Two robots of one id, of two tenants for instance, differ in it; null where a cloud before link version 3 has not told it. */
  readonly uid: string | null;
}

/** A file that belongs to one robot. */
export interface Owned {
  /** Null until the cloud has said it. */
  owner(): RobotIdentity | null;
  setOwner(robot: RobotIdentity): void;
}

/**
 * Whether the file may speak for that robot: it is its owner, or has none yet. It becomes the owner, with what was not known of it
 * before.
 * @throws SQLite's error where the disk refuses.
 */
export function claimFile(file: Owned, robot: RobotIdentity): boolean {
  const owner = file.owner();
  if (owner !== null && owner.id !== robot.id) return false;
  if (owner !== null && owner.uid !== null && robot.uid !== null && owner.uid !== robot.uid) return false;
  if (owner === null || (owner.uid === null && robot.uid !== null)) file.setOwner(robot);
  return true;
}

/** Why a file is set aside, for the log. */
export function othersFile(owner: RobotIdentity | null, robot: RobotIdentity): string {
  const whose = owner?.id === robot.id ? `another robot of the id ${robot.id}, maybe a deleted one` : owner?.id;
  return `it belongs to ${whose}, the token to ${robot.id}`;
}
