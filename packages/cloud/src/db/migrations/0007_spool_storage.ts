/** Whether the robot's disk takes writes, as it last told; null where its agent is too old to. */
export const spoolStorage = 'ALTER TABLE robot_links ADD COLUMN spool_storage TEXT';
