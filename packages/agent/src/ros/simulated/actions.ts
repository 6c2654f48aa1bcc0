import { setMaxListeners } from 'node:events';
import type { ServerEndpoint } from '@drover/shared/link/answers';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import type { InterfaceDefinition, MessageSchema } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import type { RosMessage } from '@drover/shared/ros/values';
import {
  type GoalHandle,
  GoalRejectedError,
  type GoalRequest,
  NotReadyError,
  type ResumeGoalRequest,
  RosError,
  RosTimeoutError,
  ServerGoneError,
} from '../graph.js';
import type { Changes, WaitOptions } from './changes.js';
import type { OnFault } from './fault.js';

export type ActionDefinition = Extract<InterfaceDefinition, { kind: 'action' }>;
export type GoalStatus = 'succeeded' | 'canceled' | 'aborted';

/** A goal under way, as its server sees it. */
export interface ServerGoal {
  /** 16 bytes. */
  readonly id: Uint8Array;
  readonly goal: RosMessage;
  /** Aborted once a cancel was accepted: `execute` ends with `canceled` then. */
  readonly canceled: AbortSignal;
  feedback(feedback: RosMessage): void;
}

export interface ActionHandlers {
  /** Whether to accept a goal; default: yes. */
  onGoal?(goal: RosMessage): boolean | Promise<boolean>;
  /** Runs an accepted goal to its end. A throw aborts it with an empty result. */
  execute(goal: ServerGoal): Promise<{ status: GoalStatus; result: RosMessage }>;
  /** Whether to accept a cancel; default: yes. */
  onCancel?(goal: ServerGoal): boolean | Promise<boolean>;
}

interface Server {
  readonly node: string;
  readonly type: string;
  readonly handlers: ActionHandlers;
  /** Fires when the server goes: its goals never end then. */
  readonly gone: AbortController;
}

type End = Awaited<GoalHandle['result']>;

/** A goal that a server accepted: who follows it, and how. */
interface AcceptedGoal {
  readonly server: Server;
  readonly handle: GoalHandle;
  /** Who hears its feedback. */
  readonly listeners: Set<(feedback: RosMessage) => void>;
}

/** Accepted goals kept, for their results and so that an id is not taken twice. The oldest is forgotten past this number. */
const GOALS_MAX = 1000;

/**
 * Action servers and the goals that run on them. Goals, feedback and results pass through CDR, so that a wrong value
 * fails as on ROS. A goal id that was used before is rejected.
 *
 *   sendGoal → (rejected) | running → succeeded | aborted
 *                              └ cancel accepted → canceled (or what the server ends it with)
 */
export class Actions {
  readonly #servers = new Map<string, Server[]>();
  /** By goal id, hex. */
  readonly #goals = new Map<string, AcceptedGoal>();
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
  serve(node: string, name: string, type: string, handlers: ActionHandlers): () => void {
    const server: Server = { node, type, handlers, gone: new AbortController() };
    // One listener a goal; Node takes more than ten for a leak.
    setMaxListeners(0, server.gone.signal);
    this.#servers.set(name, [...(this.#servers.get(name) ?? []), server]);
    this.#changes.notify();
    return () => {
      const others = (this.#servers.get(name) ?? []).filter((other) => other !== server);
      if (others.length > 0) this.#servers.set(name, others);
      else this.#servers.delete(name);
      server.gone.abort(new ServerGoneError(name));
    };
  }

  serversOf(name: string): ServerEndpoint[] {
    return (this.#servers.get(name) ?? []).map(({ node, type }) => ({ node, type }));
  }

  names(): string[] {
    return [...this.#servers.keys()];
  }

  /** @throws NotReadyError | GoalRejectedError | RosTimeoutError | RosError | GraphStoppedError */
  async send(definition: ActionDefinition, request: GoalRequest): Promise<GoalHandle> {
    const { action, readyTimeoutMs, acceptTimeoutMs, signal } = request;
    const cdr = encode(definition.goal, request.goal, `the goal to ${action}`);
    const server = await this.#find(definition, action, { timeoutMs: readyTimeoutMs, signal });
    if (this.#goals.has(idOf(request))) throw new GoalRejectedError(action);
    const accepted = await this.#changes.within(this.#offer(definition, action, server, cdr), {
      timeoutMs: acceptTimeoutMs,
    });
    if (accepted === undefined) throw new RosTimeoutError(action, acceptTimeoutMs);
    if (!accepted) throw new GoalRejectedError(action);
    const goal = this.#run(definition, server, decodeCdr(definition.goal, cdr), request);
    this.#remember(idOf(request), goal);
    return goal.handle;
  }

  /** @throws NotReadyError | GraphStoppedError */
  async resume(definition: ActionDefinition, request: ResumeGoalRequest): Promise<GoalHandle> {
    const { action, readyTimeoutMs, signal } = request;
    const server = await this.#find(definition, action, { timeoutMs: readyTimeoutMs, signal });
    const goal = this.#goals.get(idOf(request));
    if (goal === undefined || goal.server !== server) return unknownGoal(action);
    goal.listeners.add(request.onFeedback);
    return goal.handle;
  }

  async #find(definition: ActionDefinition, action: string, options: WaitOptions): Promise<Server> {
    const find = () => this.#servers.get(action)?.find((candidate) => candidate.type === definition.type);
    const server = await this.#changes.find(find, options);
    if (!server) throw new NotReadyError('action', action, options.timeoutMs, this.serversOf(action));
    return server;
  }

  /** Never settles where the handler fails. */
  #offer(definition: ActionDefinition, action: string, { handlers }: Server, cdr: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      const ask = async () => resolve((await handlers.onGoal?.(decodeCdr(definition.goal, cdr))) ?? true);
      ask().catch((error) => this.#onFault(`the action server at ${action}`, error));
    });
  }

  #remember(id: string, goal: AcceptedGoal): void {
    this.#goals.set(id, goal);
    const [oldest] = this.#goals.keys();
    if (this.#goals.size > GOALS_MAX && oldest !== undefined) this.#goals.delete(oldest);
  }

  #run(definition: ActionDefinition, server: Server, goal: RosMessage, request: GoalRequest): AcceptedGoal {
    const { action } = request;
    const listeners = new Set([request.onFeedback]);
    const where = `the action server at ${action}`;
    const cancel = new AbortController();
    let ended = false;
    const serverGoal: ServerGoal = {
      id: request.goalId,
      goal,
      canceled: cancel.signal,
      feedback: (feedback) => {
        const cdr = encode(definition.feedback, feedback, 'the feedback');
        if (ended || server.gone.signal.aborted) return;
        for (const listener of listeners) {
          try {
            listener(decodeCdr(definition.feedback, cdr));
          } catch (error) {
            this.#onFault(`whoever receives the feedback of ${action}`, error);
          }
        }
      },
    };
    const execution = this.#execute(definition, server, serverGoal, where).finally(() => {
      ended = true;
    });
    const result = this.#changes
      .within(execution, { timeoutMs: Number.POSITIVE_INFINITY, signal: server.gone.signal })
      .then((end) => end ?? Promise.reject(new RosError(`${where} ended without a result`)));
    // Its caller may look at it later, or never.
    result.catch(() => {});
    const handle = {
      result,
      cancel: async () => {
        this.#changes.check();
        if (ended || server.gone.signal.aborted) return false;
        let agreed: boolean;
        try {
          agreed = (await server.handlers.onCancel?.(serverGoal)) ?? true;
        } catch (error) {
          this.#onFault(where, error);
          return false;
        }
        if (!agreed || ended) return false;
        cancel.abort();
        return true;
      },
    };
    return { server, handle, listeners };
  }

  async #execute(definition: ActionDefinition, server: Server, goal: ServerGoal, where: string): Promise<End> {
    try {
      const { status, result } = await server.handlers.execute(goal);
      return { status, result: decodeCdr(definition.result, encodeCdr(definition.result, result)) };
    } catch (error) {
      this.#onFault(where, error);
      return { status: 'aborted', result: fromJson(definition.result, {}, 'result') };
    }
  }
}

function idOf({ goalId }: ResumeGoalRequest): string {
  return Buffer.from(goalId).toString('hex');
}

/** What a server answers of a goal that it does not know. */
function unknownGoal(action: string): GoalHandle {
  const result: GoalHandle['result'] = Promise.reject(new ServerGoneError(action));
  result.catch(() => {});
  return { result, cancel: async () => false };
}

function encode(schema: MessageSchema, message: RosMessage, what: string): Uint8Array {
  try {
    return encodeCdr(schema, message);
  } catch (error) {
    throw new RosError(`${what} can't be sent`, { cause: error });
  }
}
