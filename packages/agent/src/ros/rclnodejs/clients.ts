import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import { DefinitionError } from '@drover/shared/ros/definitions';
import type { RosMessage } from '@drover/shared/ros/values';
import type { Definitions } from '../definitions.js';
import { type CallRequest, NotReadyError, RosTimeoutError } from '../graph.js';
import type { Admitted } from '../guard.js';
import type { RclClient } from './api.js';
import { type CdrService, cdrService, Unread } from './cdr-types.js';
import { type Connection, KEPT_MAX, rosError } from './connection.js';
import { Kept } from './kept.js';
import { serversOf } from './survey.js';
import { abortable, waitUntil, withDeadline } from './waiting.js';

interface ServiceClient {
  readonly client: RclClient;
  readonly service: CdrService;
  readonly admitted: Admitted;
  /** Calls under way; it is not let go before they have ended. */
  calls: number;
  /** Calls that wait for the server, in their order. */
  readonly waiting: Set<symbol>;
  /** Until the end of this turn of the event loop: what waited has been taken. */
  drained: boolean;
}

/** The services called. A client is kept after its first call, so that only that one waits for discovery. */
export class ServiceClients {
  readonly #connection: Connection;
  readonly #definitions: Definitions;
  readonly #kept: Kept<ServiceClient>;

  constructor(connection: Connection, definitions: Definitions) {
    this.#connection = connection;
    this.#definitions = definitions;
    this.#kept = new Kept({
      max: KEPT_MAX,
      idleMs: connection.idleMs,
      now: connection.now,
      mayGo: ({ calls }) => calls === 0,
      letGo: ({ client, admitted }) => admitted.during(() => connection.node.destroyClient(client)),
    });
  }

  /**
   * An answer that comes after the timeout is dropped. An aborted call rejects with its signal's reason.
   * @throws NotReadyError | RosTimeoutError | UnknownTypeError | QuarantinedError | RosError | GraphStoppedError
   */
  call(request: CallRequest): Promise<RosMessage> {
    return withDeadline([this.#connection.stopped, request.signal], undefined, (signal) => this.#call(request, signal));
  }

  /** Lets idle ones go; to be called now and then. */
  sweep(): void {
    this.#kept.sweep();
  }

  async #call(request: CallRequest, signal: AbortSignal): Promise<RosMessage> {
    const { service: name, type, readyTimeoutMs, timeoutMs } = request;
    const definition = await abortable(signal, this.#definitions.getOf('srv', type));
    const cdr = orRosError(name, () => encodeCdr(definition.request, request.request));
    const key = `${type} ${name}`;
    const kept = this.#kept.get(key, () => this.#make(name, type));
    kept.calls += 1;
    try {
      if (!(await isReady(kept, readyTimeoutMs, signal))) {
        const others = serversOf(this.#connection, 'service', name).filter((server) => server.type !== type);
        throw new NotReadyError('service', name, readyTimeoutMs, others);
      }
      const timeout = { timeoutMs, reason: () => new RosTimeoutError(name, timeoutMs) };
      const answer = await this.#underWay(kept, name, () =>
        withDeadline([signal], timeout, (deadline) => send(kept, cdr, name, deadline)),
      );
      return orRosError(name, () => decodeCdr(definition.response, answer));
    } finally {
      kept.calls -= 1;
      this.#kept.touch(key);
    }
  }

  /** The call is told to the guard for as long as it lasts: its answer comes by the main node, unasked. */
  async #underWay<T>(kept: ServiceClient, name: string, call: () => Promise<T>): Promise<T> {
    const end = kept.admitted.begin();
    try {
      const answer = await call();
      this.#connection.onNative?.(name);
      this.#takeAnswers(kept);
      return answer;
    } finally {
      end();
    }
  }

  /**
   * Takes the answers that have come meanwhile: rclnodejs takes one of a client in a turn of the event loop, and whatever else the
   * turn holds (the commit of how a call ended, as a rule) would come between each two. Once a turn: what the answers start in turn,
   * calls that waited among them, must not keep the loop from going on.
   */
  #takeAnswers(kept: ServiceClient): void {
    if (kept.calls < 2 || kept.drained) return;
    kept.drained = true;
    setImmediate(() => {
      kept.drained = false;
    });
    const { client, service, admitted } = kept;
    const take = () => {
      for (let left = kept.calls - 1, before = -1; left > 0 && service.received() !== before; left -= 1) {
        before = service.received();
        this.#connection.node.execute([client.handle]);
      }
    };
    try {
      admitted.during(take);
    } catch {
      // The call whose answer was read has ended well all the same; the node's own turn takes the others, or fails as it would have.
    }
  }

  #make(name: string, type: string): ServiceClient {
    const { rcl, node, guard } = this.#connection;
    const admitted = guard.admit({ kind: 'service', name, type });
    return orRosError(name, () => {
      const service = admitted.during(() => cdrService(rcl, type));
      return {
        client: admitted.during(() => node.createClient(service.serviceClass, name)),
        service,
        admitted,
        calls: 0,
        waiting: new Set(),
        drained: false,
      };
    });
  }
}

/** Whether the server is there in time. Each looks when its own pause is over: without a line a later call could go first. */
async function isReady({ client, waiting }: ServiceClient, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted();
  if (waiting.size === 0 && client.isServiceServerAvailable()) return true;
  const place = Symbol('a place in the line');
  waiting.add(place);
  const isNext = () => waiting.values().next().value === place;
  try {
    return await waitUntil(() => isNext() && client.isServiceServerAvailable(), { timeoutMs, signal });
  } finally {
    waiting.delete(place);
  }
}

async function send(
  { client, service, admitted }: ServiceClient,
  cdr: Uint8Array,
  name: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const answering = admitted.during(() => {
    const request = orRosError(name, () => service.request(cdr));
    const sent = client.sendRequestAsync(request, { signal });
    // It is on the wire or has failed: either way its struct has been read.
    request.free();
    return sent;
  });
  const answer = await answering.catch((cause: unknown) => {
    signal.throwIfAborted();
    throw rosError(`could not call ${name}`, cause);
  });
  if (answer instanceof Uint8Array) return answer;
  throw rosError(`the answer of ${name} could not be read`, answer instanceof Unread ? answer.cause : answer);
}

function orRosError<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof DefinitionError) throw cause;
    throw rosError(`could not call ${name}`, cause);
  }
}
