import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { LINK_PATH } from '@drover/shared/link/protocol';
import { nearestName } from '@drover/shared/ros/describe-value';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { type DockerEnv, dockerEnv } from './compose/docker/docker-env.js';
import type { ComposeRules } from './policy/compose-rules.js';
import type { PolicyRules } from './policy/policy.js';
import { DEFAULT_POLICY, readPolicy } from './policy/policy-file.js';
import type { RemapRule } from './ros/name-resolution.js';
import { SETTINGS, type Setting, type SettingKey, type SettingValues } from './settings.js';

/** The agent's settings, checked. Nothing else reads the environment for them. */
export interface Config {
  /** Address of the cloud's HTTP side, for doctor; without a trailing slash. */
  readonly httpUrl: string;
  /** Address of the agent link, a base path in DROVER_URL kept. */
  readonly linkUrl: string;
  readonly token: TokenSource;
  /** Absolute. */
  readonly dataDir: string;
  readonly ros: 'rclnodejs' | 'simulated';
  /** Of the agent's node; `/` or `/a/b`. */
  readonly rosNamespace: string;
  readonly rosRemap: readonly RemapRule[];
  readonly batteryTopic: string;
  readonly spoolBytesMax: number;
  readonly spoolAgeMsMax: number;
  readonly spoolMemoryBytesMax: number;
  readonly logLevel: SettingValues['logLevel'];
  readonly compose: ComposeConfig;
  /** What the cloud may do to this robot. Only in the file: it is the robot's, not a setting of one start. */
  readonly policy: PolicyRules;
  /** What a deployment may ask of this robot; only in the file as well. */
  readonly composeRules: ComposeRules;
  /** The file that may hold settings, the token among them. Absolute; it need not exist. */
  readonly configFile: string;
}

export interface ComposeConfig {
  readonly project: string;
  readonly healthTimeoutS: number;
  /** Absolute; null: in the data directory. */
  readonly lockFile: string | null;
  /** What of the environment docker and deployments may see. */
  readonly env: DockerEnv;
}

/** The token, or the file that holds it (read at every connect, so that a rotated token needs no restart). */
export type TokenSource = { readonly token: string } | { readonly file: string };

/** One thing that is wrong with the settings. Never holds the value: it may be the token. */
export interface ConfigProblem {
  /** The variable or the YAML key to change. */
  readonly field: string;
  readonly message: string;
}

/** All that is wrong with the settings at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly ConfigProblem[]) {
    super(problems.map((problem) => `${problem.field}: ${problem.message}`).join('\n'));
  }
}

/** Key of the policy in agent.yaml. */
const POLICY_KEY = 'policy';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings from the environment and, behind it, agent.yaml.
 * @param options `withoutPolicy`: for doctor, which goes on with the other settings where the policy is wrong.
 * @throws ConfigError with every problem found.
 */
export function loadConfig(env: Environment, options: { withoutPolicy?: boolean } = {}): Config {
  const problems: ConfigProblem[] = [];
  const file = readConfigFile(env, problems, options.withoutPolicy ?? false);
  const raw = (key: SettingKey): { text: string; field: string } | null => {
    const setting: Setting = SETTINGS[key];
    const fromEnv = env[setting.env];
    if (fromEnv !== undefined && fromEnv !== '') return { text: fromEnv, field: setting.env };
    const fromFile = setting.yaml === null ? undefined : file.values.get(setting.yaml);
    if (fromFile !== undefined) return { text: fromFile, field: `${setting.yaml} in ${file.path}` };
    return setting.default === null ? null : { text: setting.default, field: setting.env };
  };
  const value = <K extends SettingKey>(key: K): SettingValues[K] | undefined => {
    const found = raw(key);
    if (!found) return undefined;
    const checked = SETTINGS[key].schema.safeParse(found.text);
    if (checked.success) return checked.data as SettingValues[K];
    problems.push({ field: found.field, message: checked.error.issues.map((issue) => issue.message).join('; ') });
    return undefined;
  };

  const address = linkAddress(raw('url'), value('allowInsecure') ?? false, problems);
  const token = tokenSource(env, raw, value, problems);
  const ros = rosChoice(value('ros'), env, problems);
  const dataDir = value('dataDir');
  const rosNamespace = value('rosNamespace');
  const rosRemap = value('rosRemap') ?? [];
  const batteryTopic = value('batteryTopic');
  const spoolMaxMb = value('spoolMaxMb');
  const spoolMaxAgeDays = value('spoolMaxAgeDays');
  const spoolMemoryMb = value('spoolMemoryMb');
  const logLevel = value('logLevel');
  const project = value('composeProject');
  const healthTimeoutS = value('composeHealthTimeoutS');
  const lockFile = value('composeLockFile');
  if (
    problems.length > 0 ||
    !address ||
    !token ||
    !ros ||
    !dataDir ||
    !batteryTopic ||
    !spoolMaxMb ||
    !spoolMaxAgeDays ||
    !spoolMemoryMb ||
    !logLevel ||
    !project ||
    !healthTimeoutS ||
    !rosNamespace
  ) {
    throw new ConfigError(problems);
  }
  const spool = {
    spoolBytesMax: spoolMaxMb * 1_000_000,
    spoolAgeMsMax: spoolMaxAgeDays * 24 * 3_600_000,
    spoolMemoryBytesMax: spoolMemoryMb * 1_000_000,
  };
  const { rules: policy, compose: composeRules } = file.policy;
  const rules = { policy, composeRules, configFile: resolve(file.path) };
  const graph = { ros, rosNamespace, rosRemap };
  const lock = { lockFile: lockFile === undefined ? null : resolve(lockFile) };
  const compose = { project, healthTimeoutS, ...lock, env: dockerEnv(env) };
  return {
    ...address,
    ...graph,
    token,
    dataDir: resolve(dataDir),
    batteryTopic,
    ...spool,
    logLevel,
    compose,
    ...rules,
  };
}

/** The token to present now. @throws ConfigError where its file can't be read or holds no token. */
export function readToken(source: TokenSource): string {
  if ('token' in source) return source.token;
  let text: string;
  try {
    text = readFileSync(source.file, 'utf8');
  } catch (cause) {
    throw new ConfigError([
      { field: SETTINGS.tokenFile.env, message: `${source.file} can't be read (${code(cause)})` },
    ]);
  }
  const checked = SETTINGS.token.schema.safeParse(text);
  if (checked.success) return checked.data;
  const reason = checked.error.issues.map((issue) => issue.message).join('; ');
  throw new ConfigError([{ field: SETTINGS.tokenFile.env, message: `the token in ${source.file} ${reason}` }]);
}

/** An agent.yaml: scalars by key (lists of text as one, with spaces between), and the policy; anything else is a problem named where it stands. */
function readConfigFile(env: Environment, problems: ConfigProblem[], withoutPolicy: boolean) {
  const named = env[SETTINGS.config.env];
  const path = named !== undefined && named !== '' ? named : SETTINGS.config.default;
  const values = new Map<string, string>();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const missingDefault = path === SETTINGS.config.default && code(cause) === 'ENOENT';
    if (!missingDefault) {
      problems.push({ field: SETTINGS.config.env, message: `${path} can't be read (${code(cause)}): fix or unset it` });
    }
    return { path, values, policy: DEFAULT_POLICY };
  }
  const document = parseDocument(text, path, problems);
  const known = [...Object.values<Setting>(SETTINGS).flatMap((setting) => setting.yaml ?? []), POLICY_KEY];
  const lists = Object.values<Setting>(SETTINGS).flatMap(({ yaml, list }) => (list && yaml !== null ? [yaml] : []));
  let policy = DEFAULT_POLICY;
  for (const [key, value] of Object.entries(document)) {
    if (key === POLICY_KEY) {
      if (withoutPolicy) continue;
      const read = readPolicy(value);
      policy = read;
      problems.push(...read.problems.map(({ path: at, message }) => ({ field: `${at} in ${path}`, message })));
    } else if (!known.includes(key)) {
      const near = nearestName(key, known);
      const remedy = near ? `did you mean ${near}?` : `known are ${known.join(', ')}`;
      problems.push({ field: `${key} in ${path}`, message: `no such setting; ${remedy}` });
    } else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      if (value !== '') values.set(key, String(value));
    } else if (Array.isArray(value) && lists.includes(key)) {
      const texts = z.array(z.string()).safeParse(value);
      if (!texts.success) problems.push({ field: `${key} in ${path}`, message: 'must be a list of texts' });
      else if (value.length > 0) values.set(key, texts.data.join(' '));
    } else if (value !== null) {
      problems.push({ field: `${key} in ${path}`, message: 'must be a single value' });
    }
  }
  return { path, values, policy };
}

function parseDocument(text: string, path: string, problems: ConfigProblem[]): Record<string, unknown> {
  let document: unknown;
  try {
    document = parseYaml(text);
  } catch (cause) {
    // The parser's message quotes the line, which may hold the token: only its first line, which names the place.
    const place = cause instanceof Error ? cause.message.split('\n')[0]?.replace(/:$/, '') : '';
    problems.push({ field: path, message: `is no YAML: ${place}` });
    return {};
  }
  const mapping = z.record(z.string(), z.unknown()).nullable().safeParse(document);
  if (mapping.success) return mapping.data ?? {};
  problems.push({ field: path, message: 'must be a mapping of settings (`url: https://…`)' });
  return {};
}

function tokenSource(
  env: Environment,
  raw: (key: SettingKey) => { field: string; text: string } | null,
  value: <K extends SettingKey>(key: K) => SettingValues[K] | undefined,
  problems: ConfigProblem[],
): TokenSource | null {
  const token = raw('token');
  const file = raw('tokenFile');
  const inEnv = (found: { field: string } | null) => found !== null && found.field in env;
  if (token && file && inEnv(token) === inEnv(file)) {
    problems.push({ field: `${token.field} and ${file.field}`, message: 'both are set: keep one' });
    return null;
  }
  if (!token && !file) {
    const message = `not set: the token that POST /robots returned, or ${SETTINGS.tokenFile.env}, a file that holds it`;
    problems.push({ field: SETTINGS.token.env, message });
    return null;
  }
  if (file && (!token || inEnv(file))) {
    const source = { file: resolve(file.text) };
    try {
      readToken(source);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
    return source;
  }
  const checked = value('token');
  return checked === undefined ? null : { token: checked };
}

function rosChoice(
  choice: SettingValues['ros'] | undefined,
  env: Environment,
  problems: ConfigProblem[],
): Config['ros'] | null {
  if (choice === undefined) return null;
  const sourced = (env.AMENT_PREFIX_PATH ?? '') !== '';
  if (choice === 'simulated') return 'simulated';
  if (sourced) return 'rclnodejs';
  const message =
    choice === 'auto'
      ? 'no ROS 2 is sourced here (AMENT_PREFIX_PATH is not set): source it (`. /opt/ros/jazzy/setup.sh`) and use ' +
        'DROVER_ROS=rclnodejs, or use DROVER_ROS=simulated for a simulated robot'
      : 'rclnodejs needs a sourced ROS 2 (AMENT_PREFIX_PATH is not set): source it (`. /opt/ros/jazzy/setup.sh`), ' +
        'or use DROVER_ROS=simulated for a simulated robot';
  problems.push({ field: SETTINGS.ros.env, message });
  return null;
}

function linkAddress(
  found: { text: string; field: string } | null,
  allowInsecure: boolean,
  problems: ConfigProblem[],
): { httpUrl: string; linkUrl: string } | null {
  const refuse = (message: string) => {
    problems.push({ field: found?.field ?? SETTINGS.url.env, message });
    return null;
  };
  if (!found) return refuse("not set: the cloud's address, for instance https://drover.example.com");
  if (!URL.canParse(found.text)) return refuse('is no address: write it like https://drover.example.com');
  const url = new URL(found.text);
  const secure = url.protocol === 'https:' || url.protocol === 'wss:';
  if (!secure && url.protocol !== 'http:' && url.protocol !== 'ws:') {
    return refuse(`${url.protocol}// is not spoken here: use https:// or wss:// (http:// or ws:// on this machine)`);
  }
  if (url.username !== '' || url.password !== '') return refuse('must not hold a user or a password: use DROVER_TOKEN');
  if (url.search !== '' || url.hash !== '') return refuse('must not hold a ? or a # part');
  if (!secure && !allowInsecure && !isLocal(url.hostname)) {
    return refuse(
      `would send the token and all commands in clear text to ${url.hostname}: use https://, ` +
        'or set DROVER_ALLOW_INSECURE=1 where the network between is trusted',
    );
  }
  const place = `${url.host}${url.pathname.replace(/\/+$/, '')}`;
  return {
    httpUrl: `${secure ? 'https' : 'http'}://${place}`,
    linkUrl: `${secure ? 'wss' : 'ws'}://${place}${LINK_PATH}`,
  };
}

/** Whether a connection to this host never leaves the machine. Names that only resolve so are not trusted to. */
function isLocal(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === '::1' || host === 'localhost' || host.endsWith('.localhost');
}

function code(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
}
