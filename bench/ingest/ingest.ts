import { join } from 'node:path';
import { TestAgent } from '#test/support/agent';
import { TestCloud } from '#test/support/cloud';
import { type Benchmark, type Context, type Row, ratioAtLeast, ratioAtMost } from '../harness/benchmark.js';
import { Child } from '../harness/child.js';
import { costOf } from '../harness/process-stats.js';
import { interleaved } from '../harness/windows.js';
import { type Flooded, mqttPeer } from './mqtt-peer.js';

const SENDERS = 10;
const SOURCES = 10;
const ROWS_A_BATCH = 1000;
/** Of those whose CPU is told: it is read in steps of 10 ms, and what comes now and then (a checkpoint, a collection) is to be in it. */
const CPU_WINDOW_MS = 30_000;

/** What a window came to. */
interface Window {
  readonly rowsAS: number;
  readonly cpuUsARow: number;
}

/** Of what is not installed. */
const NO_WINDOW: Window = { rowsAS: Number.NaN, cpuUsARow: Number.NaN };

export const ingest: Benchmark = {
  name: 'ingest',
  summary: 'durable points a second through link, gateway and store, beside better-sqlite3 alone',
  run: async (context) => {
    const windowMs = context.smoke ? 300 : 5_000;
    const cpuWindowMs = context.smoke ? 300 : CPU_WINDOW_MS;
    const batchRows = context.smoke ? 100 : ROWS_A_BATCH;
    // Nothing is removed meanwhile: what minutes of this store may come to more than a store keeps by default.
    const cloud = await TestCloud.start({ DROVER_RETENTION_GB: 'off' }, join(context.dir, 'cloud'));
    context.onEnd(() => cloud.stop());
    const senders = new Child('ingest/senders');
    context.onEnd(() => senders.stop());
    const tokens: string[] = [];
    for (let n = 0; n < SENDERS; n += 1) tokens.push(await cloud.register(`sender-${n}`));
    await senders.ask('open', { url: cloud.url, tokens, rows: batchRows, sources: SOURCES });
    const alone = new Child('ingest/sqlite-alone');
    context.onEnd(() => alone.stop());
    const pragmas = await alone.ask<Record<string, unknown>>('open', { dataDir: join(context.dir, 'alone') });
    const statementRows = await alone.ask<number>('statementRows');

    const insert = (rowsAStatement: number, ms: number) => () =>
      windowOf(alone.pid, () => alone.ask<Flooded>('insert', { ms, rowsAStatement }));
    const mqtt = await mqttPeer(context, { robots: SENDERS, sources: SOURCES });
    const windows = await interleaved(context, {
      gateway: () => windowOf(cloud.process.pid, () => senders.ask<Flooded>('flood', { ms: cpuWindowMs })),
      loop: insert(1, cpuWindowMs),
      many: insert(statementRows, windowMs),
      mqtt: async () => (mqtt ? await windowOf(mqtt.subscriberPid, () => mqtt.flood(windowMs)) : NO_WINDOW),
    });
    const rate = (of: Window[]) => of.map(({ rowsAS }) => rowsAS);
    const cpu = (of: Window[]) => of.map(({ cpuUsARow }) => cpuUsARow);
    const loop = 'better-sqlite3 alone, a row a statement';
    const many = `better-sqlite3 alone, ${statementRows} rows a statement`;
    const rows: Row[] = [
      {
        ...{ what: `durable ingest, ${SENDERS} senders`, unit: 'points/s', ours: rate(windows.gateway) },
        ...{ peer: { name: loop, values: rate(windows.loop) }, goal: ratioAtLeast(0.6) },
      },
      {
        ...{ what: 'durable ingest, against the faster statement', unit: 'points/s', ours: rate(windows.gateway) },
        peer: { name: many, values: rate(windows.many) },
      },
      {
        ...{ what: 'gateway CPU of a point', unit: 'µs', ours: cpu(windows.gateway) },
        ...{ peer: { name: loop, values: cpu(windows.loop) }, goal: ratioAtMost(3) },
      },
      againstMqtt(rate(windows.gateway), mqtt && rate(windows.mqtt)),
      ...(await realAgents(context, cloud, cpuWindowMs)),
    ];
    return { rows, facts: { pragmas, rowsABatch: batchRows, senders: SENDERS, sourcesASender: SOURCES } };
  },
};

async function windowOf(pid: number, work: () => Promise<Flooded>): Promise<Window> {
  const { result, cpuS } = await costOf(pid, work);
  return { rowsAS: result.rows / result.seconds, cpuUsARow: (cpuS * 1e6) / result.rows };
}

function againstMqtt(ours: number[], peer: number[] | undefined): Row {
  const what = 'durable ingest, against MQTT QoS 1 and an insert a message';
  if (!peer) return { what, notMeasured: 'mosquitto is not installed (Debian: apt-get install mosquitto)' };
  const name = 'mosquitto, QoS 1, an insert a message';
  return { what, unit: 'points/s', ours, peer: { name, values: peer }, goal: ratioAtLeast(10) };
}

/** Whole agents instead of replayed batches: spool, sampling and all. They share the machine, so this says little of the gateway. */
async function realAgents(context: Context, cloud: TestCloud, windowMs: number): Promise<Row[]> {
  const agents = context.smoke ? 1 : SENDERS;
  const topics = context.smoke ? 2 : 5;
  const hz = context.smoke ? 100 : 1_000;
  const names = Array.from({ length: topics }, (_, n) => `/load_${n}`);
  for (let n = 0; n < agents; n += 1) {
    const token = await cloud.register(`robot-${n}`);
    const env = { DROVER_TEST_LOAD: names.map((name) => `${name}:${hz}:141`).join(',') };
    const agent = await TestAgent.start({ url: cloud.url, token, env, dataDir: join(context.dir, `agent-${n}`) });
    context.onEnd(() => agent.stop());
    for (const source of names) {
      await cloud.call('POST', `/robots/robot-${n}/streams`, { source, type: 'std_msgs/msg/String', hz });
    }
  }
  const recorded = async () => {
    let sum = 0;
    for (let n = 0; n < agents; n += 1) {
      const streams = await cloud.get<{ num_recordings: number }[]>(`/robots/robot-${n}/streams`);
      sum += streams.reduce((total, stream) => total + stream.num_recordings, 0);
    }
    return sum;
  };
  while ((await recorded()) < agents * topics) await new Promise((resolve) => setTimeout(resolve, 50));
  const windows = await interleaved(context, {
    agents: () =>
      windowOf(cloud.process.pid, async () => {
        const [before, startMs] = [await recorded(), performance.now()];
        await new Promise((resolve) => setTimeout(resolve, windowMs));
        return { rows: (await recorded()) - before, seconds: (performance.now() - startMs) / 1000 };
      }),
  });
  const what = `durable ingest, ${agents} real agent${agents === 1 ? '' : 's'} of ${topics} streams at ${hz} Hz`;
  return [
    { what, unit: 'points/s', ours: windows.agents.map(({ rowsAS }) => rowsAS), note: 'no goal' },
    { what: `${what}, gateway CPU of a point`, unit: 'µs', ours: windows.agents.map(({ cpuUsARow }) => cpuUsARow) },
  ];
}
