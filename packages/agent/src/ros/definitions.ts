import {
  type DefinitionSource,
  type InterfaceDefinition,
  loadInterface,
  UndefinedTypeError,
} from '@drover/shared/ros/definitions';
import { TypeNameError } from '@drover/shared/ros/types';
import { UnknownTypeError } from './graph.js';
import { type ListedSource, nearestType } from './nearest-type.js';

/** Definitions by type, each read once. What is unknown is looked for again: its package may have been installed since. */
export class Definitions {
  readonly #source: DefinitionSource | ListedSource;
  readonly #known = new Map<string, Promise<InterfaceDefinition>>();

  /** @param source where it can list what it has, the nearest type is named with an unknown one. */
  constructor(source: DefinitionSource | ListedSource) {
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
        const near = 'names' in this.#source ? await nearestType(type, this.#source) : null;
        throw new UnknownTypeError(type, { cause }, near === type ? null : near);
      }
      throw cause;
    }
  }
}
