import { randomBytes, randomUUID } from 'node:crypto';
import type { Desired } from '@drover/shared/link/desired';
import type { StorageState } from '@drover/shared/link/link-status';
import type { Logger } from 'pino';
import { CloudClient } from './cloud-client.js';
import { CommandRunner } from './commands/runner.js';
import { openCompose } from './compose/open.js';
import { ComposeQuestions } from './compose/questions.js';
import { type Config, readToken } from './config.js';
import { DesiredState } from './desired/desired-state.js';
import { openDataDir } from './disk/data-dir.js';
import { whenDiskTakesIt } from './disk/patience.js';
import { Inspector } from './inspect/inspector.js';
import { CloudClock } from './link/cloud-clock.js';
import { Link } from './link/link.js';
import { LinkReporter } from './link/link-reporter.js';
import { createMonotonicClock } from './link/monotonic.js';
import { isLogStream, LOG_TYPE, LogCollector, ROSOUT } from './logs/log-collector.js';
import { openGraph } from './open-graph.js';
import { Policy } from './policy/policy.js';
import { Quarantine } from './quarantine/quarantine.js';
import type { NameResolver } from './ros/name-resolution.js';
import { openInbox, openSpool } from './spool/open.js';
import { Uploader } from './spool/uploader.js';
import { maxAges } from './streams/max-ages.js';
import { StreamReporter } from './streams/stream-reporter.js';
import { Streams } from './streams/streams.js';
import { systemLoadMeter } from './vitals/system-load.js';
import { BATTERY_TYPE, Vitals } from './vitals/vitals.js';

/**
 * The agent, put together and started: files, then ROS, then what the desired state asks for, and the cloud last, so
 * that nothing waits for a connection. Returns what stops it, in reverse.
 * A disk that takes no writes is waited for.
 * @param previousEnd how the agent before this one ended, where that is known (see supervisor/).
 * @param stopping ends the wait for the disk.
 * @throws DataDirBusyError | DataDirUnusableError, what ROS refuses, and AbortError
 */
export async function startAgent(
  config: Config,
  previousEnd: string | null,
  log: Logger,
  stopping: AbortSignal,
): Promise<{ stop: () => Promise<void> }> {
  const { dataDir, linkUrl: url, batteryTopic } = config;
  const monotonicNow = createMonotonicClock();
  const wallNow = Date.now;
  const patience = { dataDir, signal: stopping, log };
  const unlock = await whenDiskTakesIt(() => openDataDir(dataDir), patience);

  const files = { dataDir, newId: randomUUID, now: wallNow, monotonicNow, log };
  const { spoolBytesMax: bytesMax, spoolAgeMsMax: ageMsMax, spoolMemoryBytesMax: memoryBytesMax } = config;
  const bounds = { bytesMax, ageMsMax, memoryBytesMax };
  const inbox = await whenDiskTakesIt(() => openInbox(files), patience);
  let storage: StorageState = 'ok';
  const onWrite = (taken: boolean) => {
    storage = taken ? 'ok' : 'failing';
  };
  const spool = await whenDiskTakesIt(() => openSpool({ ...files, ...bounds, onWrite }), patience);
  // Before anything native: what ended the agent before must be known, and noted, by then.
  const quarantine = new Quarantine({ dataDir, previousEnd, wallNow, log: log.child({ part: 'quarantine' }) });
  const graph = await openGraph(config, quarantine, log);
  await graph.start();

  const clock = new CloudClock(monotonicNow, wallNow);
  const uploader = new Uploader({ spool, clockOffset: () => clock.offset(), log });
  const newGoalId = () => new Uint8Array(randomBytes(16));
  const policy = new Policy(config.policy);
  const commands = new CommandRunner({ graph, policy, inbox, clock, monotonicNow, wallNow, newGoalId, log });
  const collecting = { graph, sink: spool, monotonicNow, wallNow, log };
  const streams = new Streams(collecting);
  const logs = new LogCollector(collecting);
  const vitals = new Vitals({ ...collecting, batteryTopic, measure: systemLoadMeter(dataDir) });
  const reporter = new StreamReporter({
    streams: () => [...streams.watched, ...logs.watched],
    drops: () => spool.drops(),
    spoolId: () => spool.id,
    monotonicNow,
  });
  const linkReporter = new LinkReporter({ spool, storage: () => storage, clock, monotonicNow });
  const compose = openCompose(config, { newId: randomUUID, monotonicNow, wallNow, log });
  const apply = (wanted: Desired, robotId: string) => {
    spool.setMaxAges(maxAges(wanted));
    quarantine.keepSubscriptions(wantedSubscriptions(wanted, batteryTopic, graph.names));
    streams.apply(wanted.streams.filter((stream) => !isLogStream(stream)));
    logs.apply(wanted.logs, wanted.streams.find(isLogStream) ?? null);
    vitals.apply(wanted.vitals);
    compose.apply(wanted, robotId);
    reporter.streamsSet();
  };
  const desired = new DesiredState({ dataDir, apply, log });
  const questions = new ComposeQuestions(compose, config);
  const inspector = new Inspector({ graph, policy, guard: quarantine, compose: questions, log });
  const client = new CloudClient({
    ...{ graph, inbox, spool, uploader, commands, desired, inspector, reporter, linkReporter, compose },
    ...{ wallNow, log },
  });
  const token = () => readToken(config.token);
  const link = new Link({ url, token, client, clock, monotonicNow, wallNow, random: Math.random, log });
  inbox.onIdentityChange(() => link.renew('the inbox is new'));
  spool.onIdentityChange(() => link.renew('the spool is new'));

  commands.recover();
  desired.start();
  reporter.start();
  linkReporter.start();
  link.start();
  log.info({ url, dataDir, ros: graph.kind, distro: graph.distro }, 'agent started');

  return {
    stop: async () => {
      reporter.stop();
      linkReporter.stop();
      await Promise.all([vitals.stop(), logs.stop(), streams.stop(), compose.stop()]);
      await commands.stop();
      await link.stop();
      spool.close();
      await graph.stop();
      quarantine.close();
      inbox.close();
      unlock();
    },
  };
}

/** What the desired state asks to be subscribed to, as ROS is asked for it. */
function wantedSubscriptions({ streams, logs, vitals }: Desired, batteryTopic: string, names: NameResolver) {
  const wanted = streams.filter(({ enabled }) => enabled).map(({ source: name, type }) => ({ name, type }));
  if (logs.enabled) wanted.push({ name: ROSOUT, type: LOG_TYPE });
  if (vitals.enabled) wanted.push({ name: batteryTopic, type: BATTERY_TYPE });
  return wanted.map(({ name, type }) => ({ name: names.resolve(name), type }));
}
