import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import { DefinitionError, type InterfaceDefinition } from '@drover/shared/ros/definitions';
import type { Definitions } from '../definitions.js';
import {
  type GoalHandle,
  GoalRejectedError,
  type GoalRequest,
  NotReadyError,
  type ResumeGoalRequest,
  RosTimeoutError,
} from '../graph.js';
import type { Admitted } from '../guard.js';
import { cancelGoal, followGoal } from './accepted-goal.js';
import type { RclActionClient, RclGoalHandle } from './api.js';
import { type CdrAction, cdrAction, Unread } from './cdr-types.js';
import { type Connection, KEPT_MAX, rosError } from './connection.js';
import { type GoalSchemas, goalSchemas } from './goal-messages.js';
import { Kept } from './kept.js';
import { serversOf } from './survey.js';
import { abortable, waitUntil, withDeadline } from './waiting.js';

/** What rclnodejs keeps of a goal that was accepted too late stays as long as its client: a client serves this many. */
const GOALS_PER_CLIENT = 1000;

type ActionDefinition = Extract<InterfaceDefinition, { kind: 'action' }>;

interface ActionServerClient {
  readonly client: RclActionClient;
  readonly action: CdrAction;
  readonly schemas: GoalSchemas;
  readonly admitted: Admitted;
  /** Goals under way; it is not let go before they have ended. */
  goals: number;
  /** Goals it ever sent or took up. */
  taken: number;
}

/** The actions that goals are sent to. A client is kept after its first goal, so that only that one waits for discovery. */
export class ActionClients {
  readonly #connection: Connection;
  readonly #definitions: Definitions;
  readonly #kept: Kept<ActionServerClient>;

  constructor(connection: Connection, definitions: Definitions) {
    this.#connection = connection;
    this.#definitions = definitions;
    this.#kept = new Kept({
      max: KEPT_MAX,
      idleMs: connection.idleMs,
      now: connection.now,
      mayGo: ({ goals }) => goals === 0,
      letGo: ({ client, admitted }) => admitted.during(() => client.destroy()),
    });
  }

  /**
   * A goal that is accepted only after the timeout is cancelled: nobody would know of it.
   * @throws NotReadyError | GoalRejectedError | RosTimeoutError | UnknownTypeError | QuarantinedError | RosError | GraphStoppedError
   */
  sendGoal(request: GoalRequest): Promise<GoalHandle> {
    return this.#withClient(request, (kept) => this.#send(kept, request));
  }

  /** @throws NotReadyError | UnknownTypeError | QuarantinedError | RosError | GraphStoppedError */
  resumeGoal(request: ResumeGoalRequest): Promise<GoalHandle> {
    return this.#withClient(request, async (kept) => this.#resume(kept, request));
  }

  /** Lets idle ones go; to be called now and then. */
  sweep(): void {
    this.#kept.sweep();
  }

  /** Takes a goal under way once the server is there; the client stays for as long as the goal does. */
  async #withClient(
    request: ResumeGoalRequest,
    take: (kept: ActionServerClient) => Promise<GoalHandle>,
  ): Promise<GoalHandle> {
    const { action: name, type, readyTimeoutMs } = request;
    const { stopped } = this.#connection;
    const definition = await abortable(stopped, this.#definitions.getOf('action', type));
    const key = `${type} ${name}`;
    const kept = this.#kept.get(key, () => this.#make(name, definition));
    kept.goals += 1;
    let ended: Promise<unknown> = Promise.resolve();
    let noteEnd = () => {};
    try {
      const isReady = await withDeadline([stopped, request.signal], undefined, (signal) =>
        waitUntil(() => kept.client.isActionServerAvailable(), { timeoutMs: readyTimeoutMs, signal }),
      );
      request.signal?.throwIfAborted();
      if (!isReady) {
        const others = serversOf(this.#connection, 'action', name).filter((server) => server.type !== type);
        throw new NotReadyError('action', name, readyTimeoutMs, others);
      }
      noteEnd = kept.admitted.begin();
      const accepted = await take(kept);
      kept.taken += 1;
      if (kept.taken === GOALS_PER_CLIENT) this.#kept.retire(key);
      const { result } = accepted;
      ended = result.catch(() => {});
      return accepted;
    } finally {
      ended.then(() => {
        this.#forget(kept, request.goalId);
        noteEnd();
        kept.goals -= 1;
        this.#kept.touch(key);
      });
    }
  }

  /** rclnodejs itself keeps a goal's feedback callback for as long as the client lives. */
  #forget({ client }: ActionServerClient, goalId: Uint8Array): void {
    const id = this.#connection.rcl.ActionUuid.fromBytes(Uint8Array.from(goalId)).toString();
    client._feedbackCallbacks.delete(id);
    client._goalHandles.delete(id);
  }

  #make(name: string, definition: ActionDefinition): ActionServerClient {
    const { rcl, node, guard } = this.#connection;
    const admitted = guard.admit({ kind: 'action', name, type: definition.type });
    return orRosError(name, () => {
      const action = admitted.during(() => cdrAction(rcl, definition.type));
      const client = admitted.during(() => new rcl.ActionClient(node, action.actionClass, name));
      return { client, action, admitted, schemas: goalSchemas(definition), goals: 0, taken: 0 };
    });
  }

  async #send(kept: ActionServerClient, request: GoalRequest): Promise<GoalHandle> {
    const { action: name, acceptTimeoutMs, goalId, goal } = request;
    const { client, action, schemas, admitted } = kept;
    // rclnodejs reads an array from the beginning of its memory: it must not be a view into another's.
    const uuid = Uint8Array.from(goalId);
    const cdr = orRosError(name, () => encodeCdr(schemas.goal, { goal_id: uuid, goal }));
    const message = orRosError(name, () => admitted.during(() => action.goal(cdr)));
    let answering: Promise<RclGoalHandle>;
    try {
      const id = this.#connection.rcl.ActionUuid.fromBytes(uuid).toMessage();
      const onFeedback = (feedback: unknown) => this.#feedback(feedback, schemas, request);
      answering = admitted.during(() => client.sendGoal(message, onFeedback, id));
    } catch (cause) {
      throw rosError(`could not send a goal to ${name}`, cause);
    } finally {
      message.free();
    }
    const timeout = { timeoutMs: acceptTimeoutMs, reason: () => new RosTimeoutError(name, acceptTimeoutMs) };
    try {
      const handle = await withDeadline([this.#connection.stopped], timeout, (signal) => abortable(signal, answering));
      if (handle.isAccepted()) return followGoal(this.#connection, schemas, handle, name);
    } catch (error) {
      answering.then((late) => late.isAccepted() && cancelGoal(this.#connection, late, name)).catch(() => {});
      throw error;
    }
    throw new GoalRejectedError(name);
  }

  /** As if it had sent the goal and seen it accepted. */
  #resume({ client, schemas, admitted }: ActionServerClient, request: ResumeGoalRequest): GoalHandle {
    const { rcl } = this.#connection;
    const { action: name } = request;
    return orRosError(name, () => {
      const id = rcl.ActionUuid.fromBytes(Uint8Array.from(request.goalId));
      client._feedbackCallbacks.set(id.toString(), (feedback) => this.#feedback(feedback, schemas, request));
      const goal = new rcl.ClientGoalHandle(client, id.toMessage(), { accepted: true });
      return admitted.during(() => followGoal(this.#connection, schemas, goal, name));
    });
  }

  /** Called by native code, which must not see anything thrown. */
  #feedback(feedback: unknown, schemas: GoalSchemas, request: ResumeGoalRequest): void {
    this.#connection.onNative?.(request.action);
    setImmediate(() => {
      if (this.#connection.stopped.aborted) return;
      try {
        if (!(feedback instanceof Uint8Array)) throw feedback instanceof Unread ? feedback.cause : feedback;
        request.onFeedback(schemas.readFeedback(decodeCdr(schemas.feedback, feedback)));
      } catch (err) {
        this.#connection.log.warn({ err, action: request.action }, 'feedback of a goal was lost');
      }
    });
  }
}

function orRosError<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof DefinitionError) throw cause;
    throw rosError(`could not reach the action at ${name}`, cause);
  }
}
