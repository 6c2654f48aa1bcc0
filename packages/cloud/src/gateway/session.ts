import type { SessionEnding } from '@drover/shared/api/link';
import type { Batch } from '@drover/shared/link/batch';
import type { ClockOffset, ClockRequest } from '@drover/shared/link/clock';
import type { CommandOutcome, CommandTaken } from '@drover/shared/link/command';
import type { Hello } from '@drover/shared/link/hello';
import {
  CloseCode,
  COMPOSE_SINCE_VERSION,
  HELLO_TIMEOUT_MS,
  LINK_VERSION,
  LINK_VERSION_OLDEST,
} from '@drover/shared/link/protocol';
import type { Answer, Question } from '@drover/shared/link/query';
import type { UpMessage } from '@drover/shared/link/up';
import { v7 as uuidv7 } from 'uuid';
import type { DeliverableCommand } from '../commands/commands.js';
import type { InboxRef } from '../commands/inboxes.js';
import { stampsOf } from '../data/stamp.js';
import { bytesOf } from '../data/writer.js';
import { storeTrouble } from '../db/errors.js';
import { NoAnswerError } from '../graph/no-answer.js';
import { type RobotRef, uidOf } from '../robots/robots.js';
import type { Place } from './admission.js';
import { Coalesced } from './coalesced.js';
import { endingOf } from './failure.js';
import { Intake } from './intake.js';
import { NewestFeedback } from './newest-feedback.js';
import { isAboutCompose, OpenQuestions, QUESTIONS_SINCE_VERSION } from './open-questions.js';
import type { SessionConnection, SessionPorts } from './session-ports.js';
import { WrittenCommands } from './written-commands.js';

/** What all sessions share. */
export interface SessionOptions extends SessionPorts {
  /** Called once the robot has said hello, before anything is sent to it: ends an older session of the same robot. */
  admit: (session: RobotSession) => void;
  /** Called once, when the connection has ended. */
  gone: (session: RobotSession, ending: SessionEnding) => void;
}

/**
 * With more than this unsent, nothing more is written that can wait: commands and the desired state stay in the store until
 * the robot has read on. What it does not read costs us this much memory, and one message.
 */
const UNSENT_HOLD_BYTES = 1024 * 1024;

/** With more than this unsent, clock requests are not answered. */
const CLOCK_UNSENT_BYTES_MAX = 64 * 1024;

/** Batches under way at once; an agent that sends more than this before an acknowledgement breaks the protocol. */
const BATCHES_IN_FLIGHT_MAX = 64;

const NO_LANE = { live: false, backfill: false };
const ALL_LANES = { live: true, backfill: true };

/**
 * One robot's conversation, from hello to the end of its connection:
 *
 *     greeting --hello--> admitted --welcome, desired, commands--> open --connection ended--> ended
 *
 * Nothing is kept here that a kill may lose: what a robot was told or has told is in the store before it is acknowledged.
 * Ten thousand of them are idle most of the time: what only some need is made when they do.
 */
export class RobotSession {
  readonly robot: RobotRef;
  readonly #ports: SessionOptions;
  readonly #connection: SessionConnection;
  /** Of those in which robots are opened: until all that the session begins with is done, or has failed. */
  #place: Place | undefined;
  #helloTimer: NodeJS.Timeout | undefined;
  readonly #written = new WrittenCommands();
  #questions: OpenQuestions | undefined;
  #state: 'greeting' | 'admitted' | 'open' | 'ended' = 'greeting';
  #spoolId = '';
  /** Lanes whose next batch must follow on what is stored. */
  #lanesOpen: Readonly<Record<Batch['lane'], boolean>> = NO_LANE;
  /** Undefined until it is known, and where it is an old copy whose agent will come again. */
  #inbox: InboxRef | undefined;
  #linkVersion = 0;
  #desiredRevision = -1;
  readonly #desiredLoop = new Coalesced();
  readonly #deliveryLoop = new Coalesced();
  /** How often it was heard that something waits in the store, and what of it was written: knows this process only, not other gateways. */
  #announced = 1;
  #caughtUpTo = 0;
  #feedback: NewestFeedback | undefined;
  #batchesInFlight = 0;
  /** Something waits until the robot has read on. */
  #isHeld = false;
  readonly #intake: Intake;
  /** Robot's clock + offset = ours: what hello lets us guess, until the robot has measured it. */
  #clockOffsetMs = 0;

  constructor(robot: RobotRef, connection: SessionConnection, ports: SessionOptions, place?: Place) {
    this.robot = robot;
    this.#connection = connection;
    this.#ports = ports;
    this.#place = place;
    this.#intake = new Intake(connection);
    const helloTimeoutMs = ports.helloTimeoutMs ?? HELLO_TIMEOUT_MS;
    this.#helloTimer = setTimeout(
      () => connection.close(CloseCode.helloTimeout, `no hello within ${helloTimeoutMs / 1000} s`),
      helloTimeoutMs,
    ).unref();
  }

  /** The inbox that commands may be bound to. */
  get inboxId(): string | undefined {
    return this.#inbox?.id;
  }

  tick(nowMs: number): void {
    this.#connection.tick(nowMs);
  }

  close(code: CloseCode, reason: string): void {
    this.#connection.close(code, reason);
  }

  terminate(): void {
    this.#connection.terminate();
  }

  /** The desired state has changed: send it, the newest only. */
  desiredChanged(): void {
    if (this.#state === 'open') this.#attempt(this.#sendDesiredSoon());
  }

  /** Commands or cancels wait in the store: send them. */
  commandsWaiting(): void {
    this.#announced += 1;
    if (this.#state === 'open') this.#attempt(this.#deliverSoon());
  }

  /**
   * A command that was just stored, bound to this inbox: writes it without a look into the store, unless another one that was
   * stored before it waits there. Offered in the order of the POSTs. Returns whether it is written.
   */
  offered(inboxId: string, command: DeliverableCommand): boolean {
    if (this.#written.has(command.uuid)) return true;
    const isNext = this.#state === 'open' && this.#caughtUpTo === this.#announced && this.#inbox?.id === inboxId;
    if (!isNext || this.#hasEnded() || this.#holdsBack()) {
      // Those after it must not overtake it: they wait for a look into the store as well.
      this.#announced += 1;
      return false;
    }
    this.#attempt(this.#write([command]));
    return true;
  }

  /** The connection has written on: what was held back follows. */
  flushed(): void {
    if (!this.#isHeld || this.#connection.unsentBytes > UNSENT_HOLD_BYTES) return;
    this.#isHeld = false;
    this.desiredChanged();
    this.commandsWaiting();
  }

  /** What the robot answers. @throws NoAnswerError */
  async ask(question: Question): Promise<Answer> {
    if (this.#state !== 'open' || this.#hasEnded()) throw new NoAnswerError('offline', 'it is offline');
    if (this.#linkVersion < QUESTIONS_SINCE_VERSION) {
      throw new NoAnswerError('too_old', 'its agent is too old to be asked; it takes an update');
    }
    if (isAboutCompose(question) && this.#linkVersion < COMPOSE_SINCE_VERSION) {
      throw new NoAnswerError('too_old', 'its agent is too old to be asked about compose; update the agent');
    }
    this.#questions ??= new OpenQuestions({ send: (query) => this.#connection.send(query), newId: uuidv7 });
    return await this.#questions.ask(question);
  }

  ended(ending: SessionEnding): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    clearTimeout(this.#helloTimer);
    this.#leavePlace();
    this.#questions?.end();
    this.#ports.gone(this, ending);
  }

  accept(message: UpMessage): void {
    if (message.kind === 'hello') {
      if (this.#state === 'greeting') this.#attempt(this.#greet(message).finally(() => this.#leavePlace()));
      else this.close(CloseCode.badMessage, 'hello came twice');
      return;
    }
    if (this.#state !== 'open') {
      this.close(CloseCode.badMessage, `${message.kind} before welcome`);
      return;
    }
    switch (message.kind) {
      case 'applied':
        this.#ports.log.debug({ robot: this.robot.id, revision: message.revision }, 'desired state applied');
        break;
      case 'command_taken':
        this.#attempt(this.#intake.write(this.#taken(message)));
        break;
      case 'command_feedback':
        this.#feedback ??= new NewestFeedback((newest) => this.#ports.commands.feedback(this.robot, newest));
        this.#attempt(this.#feedback.came(message));
        break;
      case 'command_outcome':
        this.#attempt(this.#intake.write(this.#outcome(message)));
        break;
      case 'batch':
        this.#attempt(this.#intake.data(bytesOf(message), this.#ports.data.isBusy, this.#batch(message)));
        break;
      case 'clock_request':
        this.#clock(message);
        break;
      case 'stream_status':
        this.#ports.streams.reported(
          this.robot,
          { streams: message.streams, spool_id: message.spool_id ?? this.#spoolId },
          this.#clockOffsetMs,
          this.#ports.now(),
        );
        break;
      case 'link_status':
        if (message.clock) this.#clockMeasured(message.clock);
        this.#ports.links.reported(this.robot, message, this.#clockOffsetMs, this.#ports.now());
        break;
      case 'compose_status':
        this.#ports.compose.reported(this.robot, message, this.#clockOffsetMs, this.#ports.now());
        break;
      case 'answer':
        if (this.#questions?.answered(message)) break;
        this.#ports.log.debug({ robot: this.robot.id }, 'an answer that nobody waits for (any more)');
        break;
      default:
        message satisfies never;
    }
  }

  async #greet(hello: Hello): Promise<void> {
    clearTimeout(this.#helloTimer);
    this.#helloTimer = undefined;
    if (hello.link_version < LINK_VERSION_OLDEST || hello.link_version > LINK_VERSION) {
      const served = `${LINK_VERSION_OLDEST} to ${LINK_VERSION}`;
      const older = hello.link_version > LINK_VERSION ? 'cloud' : 'agent';
      return this.close(
        CloseCode.unsupportedVersion,
        `link version ${hello.link_version}; this cloud serves ${served}: update the ${older}`,
      );
    }
    this.#state = 'admitted';
    this.#place?.greeted();
    this.#spoolId = hello.spool.id;
    if (hello.spool.first_seq) this.#lanesOpen = ALL_LANES;
    this.#linkVersion = hello.link_version;
    this.#clockOffsetMs = this.#ports.now() - hello.robot_now_ms;
    this.#ports.admit(this);
    this.#ports.links.opened(this.robot, hello.link_version, this.#ports.now());
    await this.#ports.robots.sessionStarted(this.robot.key, hello.agent_version);
    // Replaced meanwhile: to say now which inbox there is would end the commands that the newer session has.
    if (this.#hasEnded()) return;
    const { id, lineage } = hello.inbox;
    const stands = await this.#ports.commands.inboxSeen(this.robot, hello.inbox);
    // An agent that tells no lineage knows no better inbox to come again with.
    if (stands === 'current' || lineage === undefined) this.#inbox = { id, tenure: lineage?.id };
    const acked = await this.#ports.data.resume(this.robot, hello.spool, this.#ports.now());
    if (this.#hasEnded()) return;
    this.#connection.send({
      kind: 'welcome',
      link_version: LINK_VERSION,
      robot_id: this.robot.id,
      robot_uid: uidOf(this.robot),
      cloud_now_ms: this.#ports.now(),
      acked,
      inbox: stands,
    });
    this.#state = 'open';
    const { agent_version, ros } = hello;
    this.#ports.log.info(
      { robot: this.robot.id, agent_version, ros, clock_ahead_ms: -this.#clockOffsetMs },
      'robot connected',
    );
    await this.#sendDesiredSoon();
    await this.#deliverSoon();
    this.#place?.opened();
  }

  #leavePlace(): void {
    this.#place?.leave();
    this.#place = undefined;
  }

  #sendDesiredSoon(): Promise<void> {
    return this.#desiredLoop.run(() => this.#sendDesired());
  }

  #deliverSoon(): Promise<void> {
    return this.#deliveryLoop.run(() => this.#deliver());
  }

  async #sendDesired(): Promise<void> {
    if (this.#holdsBack()) return;
    const desired = await this.#ports.desired.forRobot(this.robot.key);
    if (desired.revision <= this.#desiredRevision) return;
    this.#desiredRevision = desired.revision;
    this.#connection.send(desired);
  }

  async #deliver(): Promise<void> {
    for (let more = true; more; ) {
      if (this.#hasEnded() || this.#inbox === undefined || this.#holdsBack()) return;
      const announced = this.#announced;
      const due = await this.#ports.commands.deliverable(this.robot, this.#inbox, this.#written);
      await this.#write(due.commands);
      for (const uuid of due.cancels) {
        // Before its command it would come too early, and only once.
        if (!this.#written.has(uuid) && due.more) continue;
        if (!this.#written.addCancel(uuid)) continue;
        this.#connection.send({ kind: 'command_cancel', uuid });
      }
      more = due.more;
      if (!more) this.#caughtUpTo = announced;
    }
  }

  async #write(commands: readonly DeliverableCommand[]): Promise<void> {
    for (const command of commands) {
      this.#written.add(command.uuid);
      this.#connection.send({ kind: 'command', ...command, life_ms: command.deadline_cloud_ms - this.#ports.now() });
    }
  }

  /** Whether the robot must read on before it gets more; then it is looked at again once it has. */
  #holdsBack(): boolean {
    const holds = this.#connection.unsentBytes > UNSENT_HOLD_BYTES;
    if (holds) this.#isHeld = true;
    return holds;
  }

  async #taken(taken: CommandTaken): Promise<void> {
    if (this.#inbox !== undefined) await this.#ports.commands.taken(this.robot, this.#inbox, taken);
  }

  async #outcome(outcome: CommandOutcome): Promise<void> {
    const { stampMs } = stampsOf(outcome.finished_robot_ms, this.#clockOffsetMs, this.#ports.now());
    await this.#ports.commands.ended(this.robot, this.#inbox, outcome, stampMs);
    this.#written.ended(outcome.uuid);
    this.#connection.sendLater({ kind: 'outcome_ack', uuid: outcome.uuid });
  }

  async #batch(batch: Batch): Promise<void> {
    const receivedMs = this.#ports.now();
    if (batch.spool_id !== this.#spoolId) {
      return this.close(CloseCode.badMessage, 'a batch of another spool than hello named');
    }
    if (this.#batchesInFlight >= BATCHES_IN_FLIGHT_MAX) {
      return this.close(CloseCode.badMessage, `more than ${BATCHES_IN_FLIGHT_MAX} batches without an acknowledgement`);
    }
    this.#batchesInFlight += 1;
    try {
      const opens = !this.#lanesOpen[batch.lane];
      if (opens) this.#lanesOpen = { ...this.#lanesOpen, [batch.lane]: true };
      const seq = await this.#ports.data.write(this.robot, batch, receivedMs, opens);
      this.#connection.send({ kind: 'batch_ack', spool_id: batch.spool_id, lane: batch.lane, seq });
    } finally {
      this.#batchesInFlight -= 1;
    }
  }

  #clock(request: ClockRequest): void {
    if (request.measured) this.#clockMeasured(request.measured);
    // A reply that waits behind much else measures nothing; and who asks without reading gets no memory of ours for it.
    if (this.#connection.unsentBytes > CLOCK_UNSENT_BYTES_MAX) return;
    const nowMs = this.#ports.now();
    this.#connection.send({
      kind: 'clock_reply',
      robot_sent_ms: request.robot_sent_ms,
      cloud_received_ms: nowMs,
      cloud_sent_ms: nowMs,
    });
  }

  #clockMeasured(clock: ClockOffset): void {
    this.#clockOffsetMs = clock.offset_ms;
    this.#ports.links.clockMeasured(this.robot, clock, this.#ports.now());
  }

  #hasEnded(): boolean {
    return this.#state === 'ended' || !this.#connection.isOpen;
  }

  /** A failure ends the session: the robot keeps what it was not told to forget, and comes again. */
  #attempt(work: Promise<void>): void {
    work.catch((error: unknown) => {
      // What was under way when the session ended fails as well, and is of no interest.
      if (this.#hasEnded()) return;
      const { code, reason, ours } = endingOf(error);
      const { log } = this.#ports;
      const robot = this.robot.id;
      if (ours) log.error({ robot, err: error }, 'session failed');
      // A store that takes nothing refuses all robots: with the error the log knows these lines for one condition.
      else log.warn({ robot, reason, ...(storeTrouble(error) && { err: error }) }, 'session refused');
      this.close(code, reason);
    });
  }
}
