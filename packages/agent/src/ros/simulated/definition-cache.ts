import {
  type DefinitionSource,
  type InterfaceDefinition,
  loadInterface,
  UndefinedTypeError,
} from '@drover/shared/ros/definitions';
import { TypeNameError } from '@drover/shared/ros/types';
import { UnknownTypeError } from '../graph.js';
import type { ActionDefinition } from './actions.js';
import type { ServiceDefinition } from './services.js';

export type MessageInterface = Extract<InterfaceDefinition, { kind: 'msg' }>;

/** The definitions this graph has, each read once. As many as the source has types. */
export class DefinitionCache {
  readonly #source: DefinitionSource;
  readonly #loaded = new Map<string, Promise<InterfaceDefinition>>();

  constructor(source: DefinitionSource) {
    this.#source = source;
  }

  /** @throws UnknownTypeError */
  async describe(type: string): Promise<InterfaceDefinition> {
    const known = this.#loaded.get(type);
    if (known) return known;
    const loading = loadInterface(type, this.#source).catch((error: unknown) => {
      this.#loaded.delete(type);
      const unknown = error instanceof UndefinedTypeError || error instanceof TypeNameError;
      throw unknown ? new UnknownTypeError(type, { cause: error }) : error;
    });
    this.#loaded.set(type, loading);
    return loading;
  }

  /** @throws UnknownTypeError */
  async message(type: string): Promise<MessageInterface> {
    const definition = await this.describe(type);
    if (definition.kind !== 'msg') throw new UnknownTypeError(type);
    return definition;
  }

  /** @throws UnknownTypeError */
  async service(type: string): Promise<ServiceDefinition> {
    const definition = await this.describe(type);
    if (definition.kind !== 'srv') throw new UnknownTypeError(type);
    return definition;
  }

  /** @throws UnknownTypeError */
  async action(type: string): Promise<ActionDefinition> {
    const definition = await this.describe(type);
    if (definition.kind !== 'action') throw new UnknownTypeError(type);
    return definition;
  }
}
