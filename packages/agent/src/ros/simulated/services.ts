import type { ServerEndpoint } from '@drover/shared/link/answers';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import type { InterfaceDefinition } from '@drover/shared/ros/definitions';
import type { RosMessage } from '@drover/shared/ros/values';
import { type CallRequest, NotReadyError, RosError, RosTimeoutError } from '../graph.js';
import type { Changes } from './changes.js';
import type { OnFault } from './fault.js';

export type ServiceDefinition = Extract<InterfaceDefinition, { kind: 'srv' }>;
export type ServiceHandler = (request: RosMessage) => RosMessage | Promise<RosMessage>;

interface Server {
  readonly node: string;
  readonly type: string;
  readonly handler: ServiceHandler;
}

/**
 * Service servers by name. Requests and responses pass through CDR, so that a wrong value fails as on ROS: a handler
 * that throws or answers with one never answers, and its caller times out. Calls run concurrently, unbounded here:
 * whoever calls bounds them.
 */
export class Services {
  readonly #servers = new Map<string, Server[]>();
  readonly #changes: Changes;
  readonly #onFault: OnFault;

  constructor(changes: Changes, onFault: OnFault) {
    this.#changes = changes;
    this.#onFault = onFault;
  }

  /**
   * @param node full name of the serving node.
   * @returns what takes the server away again.
   */
  serve(node: string, name: string, type: string, handler: ServiceHandler): () => void {
    const server: Server = { node, type, handler };
    this.#servers.set(name, [...(this.#servers.get(name) ?? []), server]);
    this.#changes.notify();
    return () => {
      const others = (this.#servers.get(name) ?? []).filter((other) => other !== server);
      if (others.length > 0) this.#servers.set(name, others);
      else this.#servers.delete(name);
    };
  }

  serversOf(name: string): ServerEndpoint[] {
    return (this.#servers.get(name) ?? []).map(({ node, type }) => ({ node, type }));
  }

  names(): string[] {
    return [...this.#servers.keys()];
  }

  /** @throws NotReadyError | RosTimeoutError | RosError | GraphStoppedError, or the signal's reason. */
  async call(definition: ServiceDefinition, call: CallRequest): Promise<RosMessage> {
    const { service, readyTimeoutMs, timeoutMs, signal } = call;
    const request = encodeRequest(definition, call);
    const server = await this.#changes.find(() => this.#find(service, definition.type), {
      timeoutMs: readyTimeoutMs,
      signal,
    });
    if (!server) throw new NotReadyError('service', service, readyTimeoutMs, this.serversOf(service));
    const response = await this.#changes.within(this.#answer(definition, service, server, request), {
      timeoutMs,
      signal,
    });
    if (response === undefined) throw new RosTimeoutError(service, timeoutMs);
    return decodeCdr(definition.response, response);
  }

  /** A server of another type does not match, as on DDS. */
  #find(name: string, type: string): Server | undefined {
    return this.#servers.get(name)?.find((server) => server.type === type);
  }

  /** Never settles where the handler fails. */
  #answer(definition: ServiceDefinition, name: string, server: Server, request: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve) => {
      const answer = async () => {
        const response = await server.handler(decodeCdr(definition.request, request));
        resolve(encodeCdr(definition.response, response));
      };
      answer().catch((error) => this.#onFault(`the service server at ${name}`, error));
    });
  }
}

function encodeRequest(definition: ServiceDefinition, { service, request }: CallRequest): Uint8Array {
  try {
    return encodeCdr(definition.request, request);
  } catch (error) {
    throw new RosError(`the request to ${service} can't be sent`, { cause: error });
  }
}
