import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import {
  type DefinitionSource,
  type InterfaceDefinition,
  loadInterface,
  UndefinedTypeError,
} from '@drover/shared/ros/definitions';
import { splitTypeName, TypeNameError } from '@drover/shared/ros/types';
import { UnknownTypeError } from '../graph.js';

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

/** Definitions by type, each read once. What is unknown is looked for again: its package may have been installed since. */
export class Definitions {
  readonly #source: DefinitionSource;
  readonly #known = new Map<string, Promise<InterfaceDefinition>>();

  constructor(source: DefinitionSource) {
    this.#source = source;
  }

  /** @throws UnknownTypeError | DefinitionError */
  get(type: string): Promise<InterfaceDefinition> {
    const known = this.#known.get(type);
    if (known) return known;
    const loading = this.#load(type);
    this.#known.set(type, loading);
    loading.catch(() => this.#known.delete(type));
    return loading;
  }

  /** @throws UnknownTypeError also where the type is of another kind. */
  async getOf<Kind extends InterfaceDefinition['kind']>(
    kind: Kind,
    type: string,
  ): Promise<Extract<InterfaceDefinition, { kind: Kind }>> {
    const definition = await this.get(type);
    if (definition.kind !== kind) throw new UnknownTypeError(type);
    return definition as Extract<InterfaceDefinition, { kind: Kind }>;
  }

  async #load(type: string): Promise<InterfaceDefinition> {
    try {
      return await loadInterface(type, this.#source);
    } catch (cause) {
      if (cause instanceof UndefinedTypeError || cause instanceof TypeNameError) {
        throw new UnknownTypeError(type, { cause });
      }
      throw cause;
    }
  }
}
