import { readdir, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { splitTypeName } from '@drover/shared/ros/types';
import type { ListedSource } from '../nearest-type.js';
import { textOfIdl } from './idl.js';

/**
 * The interface files of the sourced ROS 2: `share/PKG/{msg,srv,action}/NAME.{msg,srv,action}` of each prefix in turn, and
 * `NAME.idl` where a package has only that.
 */
export function amentDefinitions(env: NodeJS.ProcessEnv): ListedSource {
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
    async names(pkg, kind) {
      const files = await Promise.all(prefixes.map((prefix) => listIfThere(join(prefix, 'share', pkg, kind))));
      const own = files.flat().filter((file) => file.endsWith(`.${kind}`) || file.endsWith('.idl'));
      return [...new Set(own.map((file) => file.slice(0, file.lastIndexOf('.'))))];
    },
    async packages() {
      return (await Promise.all(prefixes.map((prefix) => listIfThere(join(prefix, 'share'))))).flat();
    },
  };
}

async function listIfThere(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    // Only for suggestions: what can't be listed has none.
    return [];
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
