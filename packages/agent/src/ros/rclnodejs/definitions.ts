import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { DefinitionSource } from '@drover/shared/ros/definitions';
import { splitTypeName } from '@drover/shared/ros/types';
import { textOfIdl } from './idl.js';

/**
 * The interface files of the sourced ROS 2: `share/PKG/{msg,srv,action}/NAME.{msg,srv,action}` of each prefix in turn, and
 * `NAME.idl` where a package has only that.
 */
export function amentDefinitions(env: NodeJS.ProcessEnv): DefinitionSource {
  const prefixes = (env.AMENT_PREFIX_PATH ?? '').split(delimiter).filter((prefix) => prefix !== '');
  return {
    async read(type) {
      // Checks the name, too: nothing but a package and a name comes into the path.
      const { pkg, kind, name } = splitTypeName(type);
      for (const prefix of prefixes) {
        const folder = join(prefix, 'share', pkg, kind);
        const text = await readIfThere(join(folder, `${name}.${kind}`));
        if (text !== undefined) return text;
        const idl = await readIfThere(join(folder, `${name}.idl`));
        if (idl !== undefined) return textOfIdl(type, idl);
      }
      return undefined;
    },
  };
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
