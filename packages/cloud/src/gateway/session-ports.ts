import type { Batch } from '@drover/shared/link/batch';
import type { ClockOffset } from '@drover/shared/link/clock';
import type { CommandOutcome, CommandTaken } from '@drover/shared/link/command';
import type { ComposeStatus } from '@drover/shared/link/compose-status';
import type { Desired } from '@drover/shared/link/desired';
import type { Hello } from '@drover/shared/link/hello';
import type { LinkStatus } from '@drover/shared/link/link-status';
import type { StreamStatus } from '@drover/shared/link/stream-status';
import type { Logger } from 'pino';
import type { DeliverableCommand } from '../commands/commands.js';
import type { InboxRef } from '../commands/inboxes.js';
import type { RobotRef } from '../robots/robots.js';
import type { Connection } from './connection.js';

/** What a session needs of its connection. */
export type SessionConnection = Pick<
  Connection,
  'send' | 'sendLater' | 'close' | 'terminate' | 'tick' | 'pause' | 'resume' | 'isOpen' | 'unsentBytes'
>;

/** What a robot tells of its streams; the drops are those of that spool. */
export type ToldOfStreams = Pick<StreamStatus, 'streams'> & { readonly spool_id: string };

/** What a session needs of the rest of the cloud. */
export interface SessionPorts {
  robots: { sessionStarted(robotKey: number, agentVersion: string): Promise<void> };
  desired: { forRobot(robotKey: number): Promise<Desired> };
  data: {
    /** `opens`: the first of its lane in a session whose hello did not say what the spool holds. */
    write(robot: RobotRef, batch: Batch, receivedMs: number, opens: boolean): Promise<number>;
    /** So much waits for the disk that nobody should send more for now. */
    readonly isBusy: boolean;
    /** How far the lanes of the spool are stored, and go on. */
    resume(robot: RobotRef, spool: Hello['spool'], nowMs: number): Promise<{ live: number; backfill: number }>;
  };
  commands: {
    /** Ends what an inbox that is gone, or is an old copy, can no longer answer for; `stale`: it may get no commands. */
    inboxSeen(robot: RobotRef, inbox: Hello['inbox']): Promise<'current' | 'stale'>;
    /**
     * Waiting commands of the robot, now bound to this inbox, without those already `written`, and goals that should be
     * cancelled; in POST order. `more`: there are more commands than are read at once.
     */
    deliverable(
      robot: RobotRef,
      inbox: InboxRef,
      written: Pick<ReadonlySet<string>, 'has'>,
    ): Promise<{ commands: DeliverableCommand[]; cancels: string[]; more: boolean }>;
    taken(robot: RobotRef, inbox: InboxRef, taken: CommandTaken): Promise<void>;
    /** The newest feedback of goals, by uuid. */
    feedback(robot: RobotRef, newest: ReadonlyMap<string, unknown>): Promise<void>;
    ended(robot: RobotRef, inbox: InboxRef | undefined, outcome: CommandOutcome, finishedMs: number): Promise<void>;
  };
  streams: {
    /** What the robot tells of its streams; the newest of each counts. Never throws. */
    reported(robot: RobotRef, told: ToldOfStreams, clockOffsetMs: number, receivedMs: number): void;
  };
  /** How the robot is connected. None of them throws. */
  links: {
    opened(robot: RobotRef, linkVersion: number, atMs: number): void;
    clockMeasured(robot: RobotRef, clock: ClockOffset, atMs: number): void;
    reported(robot: RobotRef, status: LinkStatus, clockOffsetMs: number, atMs: number): void;
  };
  compose: {
    /** What the robot tells of its compose file; the newest counts. Never throws. */
    reported(robot: RobotRef, status: ComposeStatus, clockOffsetMs: number, receivedMs: number): void;
  };
  log: Logger;
  now: () => number;
  helloTimeoutMs?: number;
}
