import type { Hello } from '@drover/shared/link/hello';
import type { Query } from '@drover/shared/link/query';
import type { Welcome } from '@drover/shared/link/welcome';
import { RELEASE_DATE } from '@drover/shared/release';
import type { Logger } from 'pino';
import type { CommandRunner } from './commands/runner.js';
import type { Compose } from './compose/compose.js';
import type { DesiredState } from './desired/desired-state.js';
import type { RobotIdentity } from './disk/robot-identity.js';
import type { Inspector } from './inspect/inspector.js';
import type { Instruction, LinkClient, Uplink } from './link/link.js';
import type { LinkReporter } from './link/link-reporter.js';
import type { RosGraph } from './ros/graph.js';
import type { Inbox } from './spool/inbox.js';
import type { Spool } from './spool/spool.js';
import type { Uploader } from './spool/uploader.js';
import type { StreamReporter } from './streams/stream-reporter.js';

export interface CloudClientParts {
  readonly graph: Pick<RosGraph, 'kind' | 'distro'>;
  readonly inbox: Inbox;
  readonly spool: Spool;
  readonly uploader: Uploader;
  readonly commands: CommandRunner;
  readonly desired: DesiredState;
  readonly inspector: Inspector;
  readonly reporter: StreamReporter;
  readonly linkReporter: LinkReporter;
  readonly compose: Pick<Compose, 'opened' | 'closed'>;
  readonly wallNow: () => number;
  readonly log: Logger;
}

/** Brings the link and the capabilities together: what we say of ourselves, and who gets what the cloud says. */
export class CloudClient implements LinkClient {
  readonly #parts: CloudClientParts;
  #uplink: Uplink | null = null;

  constructor(parts: CloudClientParts) {
    this.#parts = parts;
  }

  hello(linkVersion: number): Hello {
    const { graph, inbox, spool, desired, wallNow } = this.#parts;
    return {
      kind: 'hello',
      link_version: linkVersion,
      agent_version: RELEASE_DATE,
      robot_now_ms: wallNow(),
      inbox: inbox.said(),
      spool: spool.introduce(),
      ros: { graph: graph.kind, distro: graph.distro },
      desired_revision: desired.revision,
    };
  }

  opened(uplink: Uplink, welcome: Welcome): string | null {
    const { inbox, spool, uploader, commands, desired, reporter, linkReporter, compose } = this.#parts;
    this.#uplink = uplink;
    // Both before anything is sent: nothing of another robot's may reach this one's account.
    const robot: RobotIdentity = { id: welcome.robot_id, uid: welcome.robot_uid ?? null };
    const inboxIsOurs = this.#claimInbox(robot);
    const spoolClaim = spool.claim(robot, welcome.acked);
    if (inboxIsOurs && welcome.inbox === 'stale') {
      commands.dropWaiting();
      inbox.renew();
      return 'the inbox was an old copy and is new now';
    }
    if (!inboxIsOurs || spoolClaim === 'changed') return "this robot's files are new";
    desired.opened(uplink, welcome.robot_id);
    commands.opened(uplink);
    reporter.opened(uplink);
    linkReporter.opened(uplink, welcome);
    compose.opened(uplink, welcome);
    if (spoolClaim === 'ours') uploader.open(uplink, welcome.acked);
    return null;
  }

  receive(instruction: Instruction): void {
    const { uploader, commands, desired } = this.#parts;
    switch (instruction.kind) {
      case 'command':
        commands.receive(instruction);
        break;
      case 'command_cancel':
        commands.cancel(instruction.uuid);
        break;
      case 'outcome_ack':
        commands.outcomeStored(instruction.uuid);
        break;
      case 'batch_ack':
        uploader.acknowledged(instruction);
        break;
      case 'desired':
        desired.receive(instruction);
        break;
      case 'query':
        void this.#answer(instruction, this.#uplink);
        break;
      default:
        instruction satisfies never;
    }
  }

  closed(): void {
    const { uploader, commands, desired, reporter, linkReporter, compose } = this.#parts;
    this.#uplink = null;
    uploader.close();
    commands.closed();
    reporter.closed();
    linkReporter.closed();
    compose.closed();
    desired.closed();
  }

  /** In the session that asked, or not at all: another one's cloud does not wait for it. */
  async #answer(query: Query, uplink: Uplink | null): Promise<void> {
    const answer = await this.#parts.inspector.answer(query);
    if (uplink !== null && uplink === this.#uplink) uplink.send(answer);
  }

  #claimInbox(robot: RobotIdentity): boolean {
    const { inbox, commands, log } = this.#parts;
    try {
      if (inbox.claim(robot) === 'ours') return true;
      commands.forget();
      return false;
    } catch (error) {
      // It may be another robot's: what it held is not to be run or told here. The same disk will refuse new commands.
      commands.forget();
      log.error({ err: error }, 'the inbox can not be claimed');
      return true;
    }
  }
}
