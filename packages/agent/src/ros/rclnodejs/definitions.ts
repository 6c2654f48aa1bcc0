import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { DefinitionSource } from '@drover/shared/ros/definitions';
import { splitTypeName } from '@drover/shared/ros/types';

/** The interface files of the sourced ROS 2: `share/PKG/{msg,srv,action}/NAME.{msg,srv,action}` of each prefix in turn. */
export function amentDefinitions(env: NodeJS.ProcessEnv): DefinitionSource {
  const prefixes = (env.AMENT_PREFIX_PATH ?? '').split(delimiter).filter((prefix) => prefix !== '');
  return {
    async read(type) {
      // Checks the name, too: nothing but a package and a name comes into the path.
      const { pkg, kind, name } = splitTypeName(type);
      for (const prefix of prefixes) {
        try {
          return await readFile(join(prefix, 'share', pkg, kind, `${name}.${kind}`), 'utf8');
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        }
      }
      return undefined;
    },
  };
}
