import { createServer } from 'node:http';
import { InProcessBus } from './bus/in-process.js';
import { announce } from './cli/announce.js';
import { runCli } from './cli/cli.js';
import { explain } from './cli/explain.js';
import { stopSignal } from './cli/stop-signal.js';
import type { Config } from './config.js';
import { openWhenDiskAllows } from './db/open-patiently.js';
import { docsRouter } from './docs/docs.js';
import { Gateway } from './gateway/gateway.js';
import type { UnstoredChanges } from './gateway/presence.js';
import { SessionRegistry } from './gateway/registry.js';
import { createApp } from './http/app.js';
import { IdempotencySweep } from './http/idempotency-sweep.js';
import { Listener } from './http/listener.js';
import { boundsOf, Retention } from './retention/retention.js';
import { createServices, endpointsOf } from './services.js';
import { healthRouter } from './status/health.js';
import { createLog } from './status/log.js';
import { Metrics } from './status/metrics.js';
import { statusPageRouter } from './status/page.js';

/** The cloud, from its settings to its end: everything there is, in the order it starts; it stops in reverse. */
async function serve(config: Config, warnings: readonly string[]): Promise<void> {
  const now = Date.now;
  const monotonicNow = () => performance.now();
  const log = createLog({ level: config.logLevel, monotonicNow });
  // What is announced goes there by itself: as with the log, that it can't be written is no reason to end.
  process.stdout.on('error', () => {});
  for (const words of warnings) log.warn(words);
  const stopping = stopSignal(config.drainS, log);
  const opening = openWhenDiskAllows({ dataDir: config.dataDir, now, log, signal: stopping.signal });
  const { store, release } = await opening.catch((error: unknown) => {
    if (stopping.signal.aborted) stopping.done();
    throw error;
  });
  const bus = new InProcessBus();
  const registry = new SessionRegistry();
  const unstored: UnstoredChanges = new Map();
  const metrics = new Metrics({ sessions: () => registry.size });
  const services = createServices({
    store,
    bus,
    inboxes: registry,
    questions: registry,
    log,
    now,
    unstored,
    onCommitted: metrics.committed,
    onMissing: metrics.missing,
  });
  const { writer, deletion, commands, robots, desired, streamReports, composeReports, links, keys, tenants } = services;

  const first = await tenants.ensureFirst(config.apiKey);
  if (first?.generated) announce('new store: its API key, shown this once', { api_key: first.secret });
  if (!first && config.apiKey) log.warn('DROVER_API_KEY is ignored: the store has its first key already');

  const retention = new Retention({
    ...{ store, log, now, monotonicNow },
    bounds: boundsOf(config),
    onRun: metrics.retained,
  });
  const gateway = new Gateway({
    ...{
      registry,
      bus,
      robots,
      desired,
      data: writer,
      commands,
      streams: streamReports,
      compose: composeReports,
      links,
    },
    ...{ log, now, monotonicNow, unstoredPresence: unstored },
    onRefused: metrics.linkRefused,
  });
  const endpoints = endpointsOf(services);
  const health = healthRouter({ store, log, monotonicNow, isStopping: () => stopping.signal.aborted });
  const open = [health, metrics.router(), docsRouter(endpoints), statusPageRouter()];
  const app = createApp({ log, authenticate: keys.authenticate, endpoints, open, observe: metrics.observe });
  const server = createServer(app);
  gateway.attach(server);
  const listener = new Listener(server, { ...config, drainMs: (config.drainS * 1000) / 2 });

  const parts = [
    bus,
    writer,
    streamReports,
    composeReports,
    links,
    deletion,
    new IdempotencySweep({ db: store.db, log, now }),
    retention,
    commands,
    gateway,
    listener,
  ];
  for (const part of parts) await part.start();
  announce('listening', { url: listener.url });

  await stopping.requested;
  for (const part of parts.reverse()) await part.stop();
  await store.close();
  release();
  stopping.done();
}

try {
  await runCli(process.argv, { env: process.env, serve, out: (line) => process.stdout.write(`${line}\n`) });
} catch (error) {
  process.stderr.write(`drover-cloud: ${explain(error)}\n`);
  process.exit(1);
}
