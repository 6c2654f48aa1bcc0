import type { Command, CommandOutcome, CommandTaken } from '@drover/shared/link/command';
import type { Hello } from '@drover/shared/link/hello';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { Bus } from '../bus/bus.js';
import { CommitGroup } from '../db/commit-group.js';
import type { Db, Store, Tx } from '../db/store.js';
import { type Claim, once } from '../http/idempotency.js';
import { type UnstoredPresence, withUnstored } from '../robots/online.js';
import { type RobotRef, robotNotFound, uidOf } from '../robots/robots.js';
import { admit, type CommandRequest } from './admission.js';
import { findInbox, type InboxRef, noteInbox, raiseInbox, standing } from './inboxes.js';
import * as commandStore from './store.js';
import { cloudEnd } from './store.js';

/*
 * A command's life. "Bound" means that it was, or may have been, written to a socket for one inbox.
 *
 *   POST ──> created ──bound, taken──> sent ──outcome──> executed | error
 *     │         │                       │
 *     │         ├─ unbound, life over ─────────────────> error expired
 *     │         ├─ unbound, cancelled ─────────────────> error canceled
 *     │         └───────────────────────┴─ bound, inbox gone or nothing heard in time
 *     │                                                   └> error outcome_unknown (by the cloud) ──outcome──> the true end
 *     └─ cannot be delivered ──────────────────────────> error robot_not_provisioned | robot_not_online
 *
 * At most once: it is bound durably before it is written, and never written for another inbox. Never late: past its
 * deadline an unbound one expires here, and the robot refuses a bound one. The outcome is always told: by the robot, or
 * by the cloud when the robot can't be expected to any more.
 */

/** What is read of waiting commands at once, to be written to one robot. */
const DELIVERY_BYTES = 1024 * 1024;
const DELIVERY_COUNT = 100;

/** How long the cloud waits for an outcome beyond a command's own life and timeout before it says it does not know. */
const OUTCOME_MARGIN_MS = 60_000;

/** After a start, robots have this long to come back and tell. */
const START_GRACE_MS = 30_000;

/** Deadlines are looked at this often. */
const SWEEP_MS = 500;

/** Where the robot's session is, as far as delivery needs to know. */
export interface LiveInboxes {
  inboxOf(robotKey: number): string | undefined;
  /** Hands over a new command that is bound to this inbox, durably; false where the session can't write it now. */
  offer?(robotKey: number, inboxId: string, command: DeliverableCommand): boolean;
}

/** A command as the store has it, ready for the wire but for the life that is left. */
export type DeliverableCommand = Omit<Command, 'kind' | 'life_ms'>;

/** What a POST has made. */
export interface CreatedCommand {
  readonly uuid: string;
  readonly waits: boolean;
  /** Where it is bound already: whose it is, as it is written to the socket. */
  readonly due?: { readonly inboxId: string; readonly command: DeliverableCommand } | undefined;
}

export class Commands {
  readonly #store: Store;
  readonly #bus: Bus;
  readonly #inboxes: LiveInboxes;
  readonly #unstored: UnstoredPresence;
  readonly #log: Logger;
  readonly #now: () => number;
  /** All that is written at a command's pace; in the order in which it came, so that nothing overtakes a take that waits. */
  readonly #commits: CommitGroup;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  /** Before this moment no command is given up: the robots that know how it ended are only coming back. */
  #giveUpFromMs = Number.NEGATIVE_INFINITY;

  constructor(options: {
    store: Store;
    bus: Bus;
    inboxes: LiveInboxes;
    log: Logger;
    now: () => number;
    unstored?: UnstoredPresence;
  }) {
    this.#unstored = options.unstored ?? new Map();
    this.#store = options.store;
    this.#commits = new CommitGroup(options.store);
    this.#bus = options.bus;
    this.#inboxes = options.inboxes;
    this.#log = options.log.child({ part: 'commands' });
    this.#now = options.now;
  }

  async start(): Promise<void> {
    this.#giveUpFromMs = this.#now() + START_GRACE_MS;
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.sweep()
        .catch((error: unknown) => this.#log.error({ err: error }, 'deadlines could not be looked at'))
        .finally(() => {
          this.#sweeping = undefined;
        });
    }, SWEEP_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
    await this.#commits.settled();
  }

  /** Ends what is past its time; called by a timer, public for tests that hold the clock. */
  async sweep(): Promise<void> {
    const { db } = this.#store;
    const nowMs = this.#now();
    this.#giveUpFromMs = Math.min(this.#giveUpFromMs, nowMs + START_GRACE_MS);
    const renewed = await commandStore.renewFromFuture(db, nowMs);
    if (renewed > 0n) {
      this.#log.warn({ commands: Number(renewed) }, 'the clock was set back: open commands have their time anew');
    }
    await commandStore.expireUnbound(
      db,
      nowMs,
      cloudEnd('expired', 'it could not be delivered within its life and was not run', nowMs),
    );
    if (nowMs < this.#giveUpFromMs) return;
    await commandStore.giveUpBound(
      db,
      nowMs,
      cloudEnd('outcome_unknown', 'the robot may have run it; nothing was heard of it in time', nowMs),
    );
  }

  /**
   * Makes a command, once where there is a claim; the robot's session is given it as soon as it is durable.
   * @throws Error what `refused` makes, where too many wait already; ApiError robot_not_found where it was deleted meanwhile
   */
  async post(
    robot: RobotRef,
    request: CommandRequest,
    { claim, refused }: { claim?: Claim | undefined; refused: () => Error },
  ): Promise<{ uuid: string; replayed: boolean }> {
    let due: CreatedCommand['due'];
    const create = async (tx: Tx) => {
      const created = await this.create(tx, robot, request);
      if (!created) throw refused();
      due = created.due;
      return { uuid: created.uuid, waits: created.waits };
    };
    const { replayed, response } = await this.#commits.run(
      async (tx) =>
        claim ? await once(tx, claim, this.#now(), () => create(tx)) : { replayed: false, response: await create(tx) },
      ({ response: made }) => {
        // Also after a replay: should the first request have died between its commit and its delivery, this one makes up for it.
        if (!made.waits) return;
        const isWritten = due !== undefined && this.#inboxes.offer?.(robot.key, due.inboxId, due.command) === true;
        if (!isWritten) this.announce(robot.key);
      },
    );
    return { uuid: response.uuid, replayed };
  }

  /**
   * Stores a new command in the transaction `tx`, ended at once where it cannot be delivered; call `announce` after the
   * commit. Returns undefined where too many wait already. @throws ApiError robot_not_found where it was deleted meanwhile
   */
  async create(tx: Db, robot: RobotRef, request: CommandRequest): Promise<CreatedCommand | undefined> {
    const nowMs = this.#now();
    const inboxId = this.#inboxes.inboxOf(robot.key);
    const reach = await commandStore.robotReach(tx, robot.key, inboxId !== undefined);
    if (!reach) throw robotNotFound(robot.id);
    const admission = admit(request, {
      provisioned: reach.provisioned === 1,
      online: withUnstored(reach, this.#unstored.get(robot.key)).online === 1,
      inboxId,
      waiting: reach.waiting,
    });
    if (admission.kind === 'queue_full') return undefined;
    const accepted = admission.kind === 'accept';
    const deadlineMs = nowMs + (accepted ? admission.lifeMs : 0);
    const end = accepted ? undefined : cloudEnd(admission.errorCode, admission.message, nowMs);
    const uuid = uuidv7();
    await commandStore.insertCommand(tx, {
      uuid,
      tenant_key: robot.tenantKey,
      robot_key: robot.key,
      interface: request.interface,
      name: request.name,
      type: request.type,
      payload: JSON.stringify(request.payload),
      latched: request.latched ? 1 : 0,
      timeout_ms: request.timeoutMs,
      created_at_ms: nowMs,
      deadline_ms: deadlineMs,
      give_up_ms: deadlineMs + request.timeoutMs + OUTCOME_MARGIN_MS,
      state: end?.state ?? 'created',
      error_code: end?.error_code ?? null,
      message: end?.message ?? null,
      inbox_id: accepted ? admission.inboxId : null,
      finished_at_ms: end?.finished_at_ms ?? null,
      ended_by: end?.ended_by ?? null,
    });
    if (!accepted || admission.inboxId === null) return { uuid, waits: accepted };
    const command: DeliverableCommand = {
      uuid,
      interface: request.interface,
      name: request.name,
      type: request.type,
      payload: request.payload,
      deadline_cloud_ms: deadlineMs,
      timeout_ms: request.timeoutMs,
      latched: request.latched,
    };
    return { uuid, waits: true, due: { inboxId: admission.inboxId, command } };
  }

  /** Tells the robot's session, wherever it is, that something waits. */
  announce(robotKey: number): void {
    this.#bus.publish('command_waiting', { robotKey });
  }

  /** Cancels an open command; says why not where it can't be. */
  async cancel(tenantKey: number, uuid: string): Promise<'canceled' | 'unknown' | 'ended' | 'not_cancelable'> {
    let askedOf: number | undefined;
    // One transaction: a session or the clock may take the command on between a look and the change.
    const answer = await this.#commits.run(async (tx) => {
      const command = await commandStore.findCommand(tx, tenantKey, uuid);
      if (!command) return 'unknown';
      if (command.state === 'executed' || command.state === 'error') return 'ended';
      if (command.inbox_id === null) {
        await commandStore.endOne(tx, uuid, cloudEnd('canceled', 'cancelled before it reached the robot', this.#now()));
        return 'canceled';
      }
      if (command.interface !== 'action_send_goal') return 'not_cancelable';
      await commandStore.requestCancel(tx, uuid);
      askedOf = command.robot_key;
      return 'canceled';
    });
    if (askedOf !== undefined) this.announce(askedOf);
    return answer;
  }

  /**
   * A robot's session speaks for this inbox. Commands bound to another can't be answered for by this one, and what an old
   * copy holds of the open ones is unknown. Returns `stale` where it is to get none.
   */
  async inboxSeen(robot: RobotRef, inbox: Hello['inbox']): Promise<'current' | 'stale'> {
    // Another robot's: the agent comes again with one of its own, and only then is known what became of this one's.
    if (inbox.robot_id !== undefined && inbox.robot_id !== robot.id) return 'stale';
    if (inbox.robot_uid !== undefined && inbox.robot_uid !== uidOf(robot)) return 'stale';
    const nowMs = this.#now();
    const { stands, ended } = await this.#commits.run(async (tx) => {
      const known = await findInbox(tx, robot.key, inbox.id);
      const stands = standing(known, inbox);
      const end = cloudEnd('outcome_unknown', 'the robot came back without the inbox that had taken it', nowMs);
      const place = { id: inbox.id, isStale: stands === 'stale' };
      const hasOpen = await commandStore.hasOpen(tx, robot.key);
      const ended = hasOpen ? await commandStore.endLostInboxes(tx, robot.key, place, end) : 0n;
      // A stale one with a lineage comes again under another id, and the one it is a copy of may come as well.
      if (stands === 'current' || inbox.lineage === undefined) await noteInbox(tx, robot.key, known, inbox);
      return { stands, ended };
    });
    if (stands === 'stale')
      this.#log.warn({ robot: robot.id, inbox: inbox.id }, 'the robot came with an old copy of its inbox');
    if (ended > 0n) this.#log.warn({ robot: robot.id, commands: Number(ended) }, 'commands lost with their inbox');
    return stands;
  }

  /**
   * What to write to the robot's socket now: its open commands of this inbox that are not among the `written` ones, bound
   * first, and goals to cancel. At most about DELIVERY_BYTES at once; `more` tells that there are more.
   *
   * An inbox that has shown that it knows all we were told of it gets those as well that it has taken: it answers with what
   * it knows. A cloud that was restored from a backup learns so of outcomes which it had acknowledged since.
   */
  async deliverable(robot: RobotRef, inbox: InboxRef, written: Pick<ReadonlySet<string>, 'has'>) {
    const { db } = this.#store;
    const inboxId = inbox.id;
    // One that is stored after this look is announced after it.
    if (!(await commandStore.hasOpen(db, robot.key))) return { commands: [], cancels: [], more: false };
    await commandStore.bindWaiting(db, robot.key, inboxId, this.#now());
    // Cancels first: one must never be known before its command, or the robot would get it too early, and only once.
    const cancels = await commandStore.cancelsRequested(db, robot.key, inboxId);
    const open = await commandStore.dueTo(db, robot.key, inboxId, inbox.tenure !== undefined);
    const due = open.filter(({ uuid }) => !written.has(uuid));
    const keys: number[] = [];
    for (let bytes = 0; keys.length < Math.min(due.length, DELIVERY_COUNT) && bytes < DELIVERY_BYTES; ) {
      const next = due[keys.length];
      if (!next) break;
      keys.push(next.key);
      bytes += next.bytes;
    }
    const commands = await commandStore.forDelivery(db, keys);
    return {
      commands: commands.map((row) => ({
        uuid: row.uuid,
        interface: row.interface,
        name: row.name,
        type: row.type,
        payload: JSON.parse(row.payload) as Record<string, unknown>,
        deadline_cloud_ms: row.deadline_ms,
        timeout_ms: row.timeout_ms,
        latched: row.latched === 1,
      })),
      cancels: cancels.map((row) => row.uuid),
      more: due.length > keys.length,
    };
  }

  /**
   * The robot has it on disk. Nobody waits for this to be stored: a crash before costs that it is written to the robot once more,
   * which answers from its inbox. So it goes with what is stored next, its outcome mostly, or in PATIENCE_MS.
   */
  async taken(robot: RobotRef, inbox: InboxRef, taken: CommandTaken): Promise<void> {
    const takenMs = this.#now();
    await this.#commits.runLater(async (tx) => {
      await commandStore.markSent(tx, robot.key, taken.uuid, takenMs);
      await raiseInbox(tx, robot.key, inbox, { seq: taken.seq, version: taken.inbox_version });
    });
  }

  /** Actions' latest feedback, by uuid; the next one or the outcome makes up for one that can't be stored. */
  async feedback(robot: RobotRef, newest: ReadonlyMap<string, unknown>): Promise<void> {
    try {
      await this.#commits.run(async (tx) => {
        for (const [uuid, feedback] of newest) {
          await commandStore.storeFeedback(tx, robot.key, uuid, JSON.stringify(feedback));
        }
      });
    } catch (error) {
      this.#log.warn({ err: error, robot: robot.id }, 'feedback not stored');
    }
  }

  /**
   * How it ended, in the robot's word; the first one counts, a second changes nothing. `finishedMs`: cloud's clock, whole.
   * @param inbox of the session that told it; undefined where that is an old copy, whose outcomes were true all the same.
   */
  async ended(
    robot: RobotRef,
    inbox: InboxRef | undefined,
    outcome: CommandOutcome,
    finishedMs: number,
  ): Promise<void> {
    const end: commandStore.End = {
      state: outcome.state,
      error_code: outcome.error_code,
      message: outcome.message,
      result: outcome.result === null || outcome.result === undefined ? null : JSON.stringify(outcome.result),
      feedback: outcome.feedback === null || outcome.feedback === undefined ? null : JSON.stringify(outcome.feedback),
      finished_at_ms: Math.min(finishedMs, this.#now()),
      ended_by: 'robot',
    };
    const stored = await this.#commits.run(async (tx) => {
      if (inbox) await raiseInbox(tx, robot.key, inbox, { version: outcome.inbox_version });
      return await commandStore.endByRobot(tx, robot.key, outcome.uuid, end);
    });
    this.#log.info(
      { robot: robot.id, command: outcome.uuid, state: outcome.state, error_code: outcome.error_code, stored },
      'command ended',
    );
  }
}
