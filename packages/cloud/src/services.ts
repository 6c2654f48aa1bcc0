/** The rules of every noun, each given what it needs, and the endpoints made of them. */
import type { Logger } from 'pino';
import type { Bus } from './bus/bus.js';
import { Commands, type LiveInboxes } from './commands/commands.js';
import { DryRun } from './commands/dry-run.js';
import { COMMAND_PURGES } from './commands/purge.js';
import { commandEndpoints } from './commands/routes.js';
import { composeChecker } from './compose/content.js';
import { desiredCompose } from './compose/desired-compose.js';
import { ComposeFiles } from './compose/files.js';
import { ComposeInquiries } from './compose/inquiries.js';
import { COMPOSE_PURGES } from './compose/purge.js';
import { ComposeReports } from './compose/reports.js';
import { RobotCompose } from './compose/robot-compose.js';
import { robotComposeEndpoints } from './compose/robot-routes.js';
import { composeFileEndpoints } from './compose/routes.js';
import { Points } from './data/points.js';
import { DATA_PURGES } from './data/purge.js';
import { dataEndpoints } from './data/routes.js';
import { type Committed, DataWriter, type Missing } from './data/writer.js';
import type { Store } from './db/store.js';
import { DesiredState } from './desired/desired.js';
import type { RobotQuestions } from './graph/inquiry.js';
import { RobotGraphs } from './graph/robot-graph.js';
import { graphEndpoints } from './graph/routes.js';
import type { Endpoint } from './http/endpoint.js';
import { Keys } from './keys/keys.js';
import { RobotLinks } from './links/links.js';
import { LINK_PURGES } from './links/purge.js';
import { linkEndpoints } from './links/routes.js';
import { Logs } from './logs/logs.js';
import { logEndpoints } from './logs/routes.js';
import { RobotDeletion } from './robots/deletion.js';
import type { UnstoredPresence } from './robots/online.js';
import { Robots } from './robots/robots.js';
import { robotEndpoints } from './robots/routes.js';
import { streamEndpoints } from './streams/routes.js';
import { StreamReports } from './streams/status.js';
import { Streams } from './streams/streams.js';
import { Tenants } from './tenants/tenants.js';
import { vitalEndpoints } from './vitals/routes.js';
import { Vitals } from './vitals/vitals.js';

export interface ServiceOptions {
  readonly store: Store;
  readonly bus: Bus;
  readonly log: Logger;
  readonly now: () => number;
  /** Where robots' sessions are. */
  readonly inboxes: LiveInboxes;
  /** Where robots can be asked something. */
  readonly questions: RobotQuestions;
  /** What the store has not taken of robots' presence. */
  readonly unstored?: UnstoredPresence;
  readonly onCommitted?: (committed: Committed) => void;
  readonly onMissing?: (missing: Missing) => void;
}

export type Services = ReturnType<typeof createServices>;

export function createServices(options: ServiceOptions) {
  const { store, bus, log, now, unstored = new Map() } = options;
  const keys = new Keys({ store, now });
  const desired = new DesiredState({ store, bus, compose: desiredCompose });
  const deletion = new RobotDeletion({
    db: store.db,
    purges: [...COMMAND_PURGES, ...COMPOSE_PURGES, ...LINK_PURGES, ...DATA_PURGES],
    log,
  });
  const composeFiles = new ComposeFiles({ store, check: composeChecker(), now });
  const robotCompose = new RobotCompose({ store, desired, files: composeFiles, now });
  const robots = new Robots({ store, bus, now, unstored, onDeleted: () => deletion.wake() });
  const commands = new Commands({ store, bus, inboxes: options.inboxes, log, now, unstored });
  const dryRun = new DryRun({ robots, questions: options.questions });
  return {
    keys,
    tenants: new Tenants({ store, keys, now }),
    robots,
    commands,
    commandEndpoints: commandEndpoints({ commands, dryRun, robots, store }),
    graphs: new RobotGraphs(options.questions),
    deletion,
    desired,
    streams: new Streams({ store, desired, now }),
    links: new RobotLinks({ store, log, unstored }),
    streamReports: new StreamReports({ store, log, unstored }),
    vitals: new Vitals({ store, desired }),
    logs: new Logs({ store, desired }),
    composeFiles,
    composeReports: new ComposeReports({ store, log }),
    robotCompose,
    composeInquiries: new ComposeInquiries({ questions: options.questions, files: composeFiles, robotCompose }),
    points: new Points({ db: store.db }),
    writer: new DataWriter({
      store,
      onCommitted: options.onCommitted,
      onMissing: (missing) => {
        log.warn(
          { robot: missing.robot.id, rows: missing.rows },
          'the robot had delivered rows which this store does not have: it was restored from a backup, or the robot created anew',
        );
        options.onMissing?.(missing);
      },
    }),
  };
}

/** In the order of their routes: `PATCH /robots/{id}/{stream}` takes any one name, so streams come last. */
export function endpointsOf(services: Services): Endpoint[] {
  const { robots } = services;
  return [
    ...robotEndpoints(robots),
    ...services.commandEndpoints,
    ...linkEndpoints(robots, services.links),
    ...graphEndpoints(robots, services.graphs),
    ...vitalEndpoints(robots, services.vitals),
    ...logEndpoints(robots, services.logs),
    ...dataEndpoints(robots, services.points),
    ...composeFileEndpoints(services.composeFiles),
    ...robotComposeEndpoints({
      ...{ robots, compose: services.robotCompose },
      ...{ reports: services.composeReports, inquiries: services.composeInquiries },
    }),
    ...streamEndpoints(robots, services.streams, services.streamReports),
  ];
}
