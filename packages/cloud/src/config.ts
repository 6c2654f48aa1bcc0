/** Every setting in one table: its variable, what it may be, its default and what it does. Only this file reads the environment's names. */
import { resolve } from 'node:path';
import { misspeltSettings } from '@drover/shared/settings/misspelt';
import { z } from 'zod';
import { CHOSEN_KEY_LENGTH_MIN } from './keys/keys.js';

interface Setting<T> {
  readonly env: string;
  /** As a user would write it; undefined = none. */
  readonly fallback: string | undefined;
  readonly description: string;
  readonly schema: z.ZodType<T>;
}

function setting<T>(env: string, fallback: string | undefined, description: string, schema: z.ZodType<T>): Setting<T> {
  return { env, fallback, description, schema };
}

const number = (min: number, max: number, whole: boolean) =>
  z
    .string()
    .regex(whole ? /^\d+$/ : /^\d+(\.\d+)?$/, whole ? 'must be a whole number' : 'must be a number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);

/** A bound; null = none. */
const bound = (min: number, max: number) => {
  const words = `must be a number from ${min} to ${max}, or off (0 means the same)`;
  return z
    .string()
    .regex(/^(off|\d+(\.\d+)?)$/, words)
    .transform((text) => (text === 'off' || Number(text) === 0 ? null : Number(text)))
    .refine((value) => value === null || (value >= min && value <= max), words);
};

const notYet = (what: string, instead: string) =>
  z.undefined({ error: `${what} is not supported by this version yet: unset it, ${instead}` });

const SETTINGS = {
  port: setting('DROVER_PORT', '8080', 'port to listen on; 0 = any free one', number(0, 65535, true)),
  host: setting('DROVER_HOST', '127.0.0.1', 'address to listen on; 0.0.0.0 = all', z.string()),
  dataDir: setting(
    'DROVER_DATA_DIR',
    './data',
    'directory of the store',
    z.string().transform((path) => resolve(path)),
  ),
  apiKey: setting(
    'DROVER_API_KEY',
    undefined,
    `full-access key of the first tenant of a new store, ${CHOSEN_KEY_LENGTH_MIN} characters or more; generated and printed once where not set`,
    z
      .string()
      .min(CHOSEN_KEY_LENGTH_MIN, `must have ${CHOSEN_KEY_LENGTH_MIN} characters or more`)
      .max(256, 'must have at most 256 characters')
      .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII, since it travels in an HTTP header')
      .optional(),
  ),
  databaseUrl: setting(
    'DROVER_DATABASE_URL',
    undefined,
    'postgres://… instead of SQLite (not yet supported)',
    notYet('PostgreSQL', 'the store is then SQLite in DROVER_DATA_DIR'),
  ),
  natsUrl: setting(
    'DROVER_NATS_URL',
    undefined,
    'NATS server that joins several clouds (not yet supported)',
    notYet('NATS', 'the cloud is then one process'),
  ),
  logLevel: setting(
    'DROVER_LOG_LEVEL',
    'info',
    'trace, debug, info, warn, error, fatal or silent',
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  ),
  retentionDays: setting(
    'DROVER_RETENTION_DAYS',
    '30',
    'days that data and vitals are kept after they came, commands after they ended; off = for ever',
    bound(0.001, 36_500),
  ),
  retentionGb: setting(
    'DROVER_RETENTION_GB',
    '10',
    'size of the store, in 10^9 bytes, above which the oldest data goes; off = no bound',
    bound(0.001, 1_000_000),
  ),
  drainS: setting('DROVER_DRAIN_S', '5', 'seconds that stopping may take', number(1, 3600, false)),
} as const;

type Settings = typeof SETTINGS;
export type Config = { readonly [name in keyof Settings]: z.infer<Settings[name]['schema']> };

/** Settings that can't be used, all of them at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/** The configuration of an environment; an empty variable counts as not set. @throws ConfigError */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const entries = Object.entries(SETTINGS).map(([name, { env: variable, fallback, schema }]) => {
    const checked = (schema as z.ZodType).safeParse(env[variable] || fallback);
    if (!checked.success) {
      const words = checked.error.issues.map((issue) => issue.message).join(', ');
      problems.push(`${variable}: ${words}`);
    }
    return [name, checked.data];
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.fromEntries(entries) as Config;
}

/** Warnings about variables that look like a setting written wrongly. */
export function misspelt(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return misspeltSettings(
    env,
    Object.values(SETTINGS).map((known) => known.env),
  );
}

/** The settings as --help prints them. */
export function settingsHelp(): string {
  const settings = Object.values(SETTINGS);
  const width = Math.max(...settings.map(({ env }) => env.length));
  const lines = settings.map(({ env, fallback, description }) => {
    return `  ${env.padEnd(width)}  ${description}${fallback === undefined ? '' : ` (${fallback})`}`;
  });
  return ['Settings, from the environment (default):', ...lines].join('\n');
}
