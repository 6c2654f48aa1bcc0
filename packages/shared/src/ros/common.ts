import type { DefinitionSource } from './definitions.js';

/** The interfaces of ROS's common packages (Jazzy), for a machine that has no ROS. */
export const commonDefinitions: DefinitionSource = {
  read: async () => undefined,
};
