/** /metrics for Prometheus: counts and times, nothing of any one robot or tenant. A registry of its own a cloud. */
import { type RequestHandler, Router } from 'express';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Committed, Missing } from '../data/writer.js';
import { routeOf } from '../http/router.js';
import type { RetentionRun } from '../retention/retention.js';

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Histogram({
    name: 'drover_http_request_duration_seconds',
    help: 'Time to answer a request',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers: [this.#registry],
  });
  readonly #rows = new Counter({
    name: 'drover_ingest_rows_total',
    help: 'Rows of data committed',
    registers: [this.#registry],
  });
  readonly #batches = new Counter({
    name: 'drover_ingest_batches_total',
    help: 'Batches of data committed',
    registers: [this.#registry],
  });
  readonly #commits = new Counter({
    name: 'drover_ingest_commits_total',
    help: 'Group commits',
    registers: [this.#registry],
  });
  readonly #missing = new Counter({
    name: 'drover_ingest_missing_rows_total',
    help: 'Rows that robots had delivered and this store does not have: it was restored from a backup',
    registers: [this.#registry],
  });
  readonly #refusedLinks = new Counter({
    name: 'drover_link_admission_refused_total',
    help: 'Robots told to come later, since more came at once than can be opened',
    registers: [this.#registry],
  });
  readonly #removed = new Counter({
    name: 'drover_retention_removed_rows_total',
    help: 'Rows that retention removed, by what they were and the bound they were past',
    labelNames: ['of', 'reason'] as const,
    registers: [this.#registry],
  });
  readonly #retained = new Gauge({
    name: 'drover_retention_last_run_timestamp_seconds',
    help: 'When the last run of retention ended',
    registers: [this.#registry],
  });
  readonly #storeBytes = new Gauge({
    name: 'drover_store_bytes',
    help: 'Size of the store after the last run of retention: pages in use (live), and the whole file',
    labelNames: ['of'] as const,
    registers: [this.#registry],
  });

  /** @param sessions how many robots have a session now */
  constructor(options: { sessions: () => number }) {
    collectDefaultMetrics({ register: this.#registry });
    new Gauge({
      name: 'drover_robot_sessions',
      help: 'Robots connected',
      registers: [this.#registry],
      collect() {
        this.set(options.sessions());
      },
    });
  }

  readonly committed = ({ rows, batches }: Committed): void => {
    this.#rows.inc(rows);
    this.#batches.inc(batches);
    this.#commits.inc();
  };

  readonly missing = ({ rows }: Missing): void => {
    this.#missing.inc(rows);
  };

  readonly linkRefused = (): void => {
    this.#refusedLinks.inc();
  };

  readonly retained = ({ removed, size, endedMs }: RetentionRun): void => {
    for (const [of, reasons] of Object.entries(removed)) {
      for (const [reason, rows] of Object.entries(reasons)) this.#removed.inc({ of, reason }, rows);
    }
    this.#storeBytes.set({ of: 'live' }, size.live);
    this.#storeBytes.set({ of: 'file' }, size.file);
    this.#retained.set(endedMs / 1000);
  };

  /** Times every request, under its route's template: paths would be without end. */
  readonly observe: RequestHandler = (request, response, next) => {
    const end = this.#requests.startTimer();
    response.once('close', () => {
      end({ method: request.method, route: routeOf(response) ?? 'none', status: String(response.statusCode) });
    });
    next();
  };

  router(): Router {
    const router = Router({ caseSensitive: true });
    router.get('/metrics', async (_request, response) => {
      response.setHeader('content-type', this.#registry.contentType);
      response.end(await this.#registry.metrics());
    });
    return router;
  }
}
