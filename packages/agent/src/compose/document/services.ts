import { z } from 'zod';

/** What the agent needs to know of a service beside what compose does by itself. */
export interface Service {
  readonly name: string;
  readonly image: string;
  /** Null: what is missing is pulled. */
  readonly pullPolicy: string | null;
  readonly platform: string | null;
  /** How many containers. */
  readonly scale: number;
  /** Others wait for its end. */
  readonly endIsAwaited: boolean;
  readonly stopGraceS: number;
}

/** Docker's own, where a document says nothing. */
const STOP_GRACE_S = 10;

const serviceSchema = z.object({
  image: z.string().optional(),
  pull_policy: z.string().optional(),
  platform: z.string().optional(),
  scale: z.coerce.number().optional(),
  deploy: z.object({ replicas: z.coerce.number().nullish() }).nullish(),
  depends_on: z.record(z.string(), z.object({ condition: z.string().optional() })).nullish(),
  stop_grace_period: z.string().optional(),
});
const projectSchema = z.object({ services: z.record(z.string(), serviceSchema) });

/**
 * The services of a document in compose's normal form (`docker compose config --format json`), those of profiles that are not
 * active left out by compose.
 * @throws ZodError where compose writes another form than it did.
 */
export function servicesOf(normalised: unknown): Service[] {
  const { services } = projectSchema.parse(normalised);
  const awaited = new Set(
    Object.values(services).flatMap(({ depends_on }) =>
      Object.entries(depends_on ?? {}).flatMap(([name, { condition }]) =>
        condition === 'service_completed_successfully' ? [name] : [],
      ),
    ),
  );
  return Object.entries(services).map(([name, service]) => ({
    name,
    image: service.image ?? '',
    pullPolicy: service.pull_policy ?? null,
    platform: service.platform ?? null,
    scale: service.scale ?? service.deploy?.replicas ?? 1,
    endIsAwaited: awaited.has(name),
    stopGraceS: service.stop_grace_period === undefined ? STOP_GRACE_S : seconds(service.stop_grace_period),
  }));
}

const UNIT_S: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 };

/** A duration as Go writes it: `1m30s`. */
function seconds(duration: string): number {
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_S[unit ?? ''] ?? 0), 0);
}
