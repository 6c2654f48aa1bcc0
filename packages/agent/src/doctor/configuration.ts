import { existsSync, statSync } from 'node:fs';
import { type Config, ConfigError, type ConfigProblem, loadConfig, type TokenSource } from '../config.js';
import type { RobotPolicy } from '../policy/policy-file.js';
import { misspelt, SETTINGS, type Setting, type SettingKey } from '../settings.js';
import type { Finding } from './check.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the other checks need; null where the setting is wrong and there is nothing to check. */
export interface UsableSettings {
  /** agent.yaml as a whole can't be read: nobody knows what it would have set. */
  readonly unread: boolean;
  readonly address: Pick<Config, 'httpUrl' | 'linkUrl'> | null;
  readonly token: TokenSource | null;
  readonly ros: Config['ros'] | null;
  readonly dataDir: string | null;
  readonly policy: RobotPolicy | null;
  /** Of deployments. */
  readonly project: string | null;
}

const NOTHING: UsableSettings = {
  unread: true,
  ...{ address: null, token: null, ros: null, dataDir: null, policy: null, project: null },
};

/** Stand in for settings that are wrong while the others are read; never used for anything else. */
const PLACEHOLDERS: Partial<Record<SettingKey, string>> = {
  url: 'http://localhost',
  token: 'placeholder',
  tokenFile: '',
  ros: 'simulated',
  // No rules; nothing at all would let the file's come back.
  rosRemap: ' ',
};

/**
 * Reads the settings as the agent does. Wrong ones are findings, and the rest is still there to be checked: somebody who
 * sets up a robot wants to hear of the disk too while the token is missing. Only a file that can't be read at all leaves
 * nothing.
 */
export function readSettings(env: Environment): { settings: UsableSettings; findings: readonly Finding[] } {
  try {
    const config = loadConfig(env);
    const loaded: Finding = { status: 'ok', message: `${describe(config)} (from ${origin(env)})` };
    return { settings: usable(config, []), findings: [loaded, ...ignored(env), ...openToOthers(config, env)] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.problems.map(
      ({ field, message }): Finding => ({ status: 'fail', message: `${field}: ${message}` }),
    );
    return { settings: withoutProblems(env, error.problems), findings: [...findings, ...ignored(env)] };
  }
}

function ignored(env: Environment): readonly Finding[] {
  return misspelt(env).map((message) => ({ status: 'warn', message }));
}

function withoutProblems(env: Environment, problems: readonly ConfigProblem[]): UsableSettings {
  const wrong = (Object.keys(SETTINGS) as SettingKey[]).filter((key) =>
    problems.some((problem) => isAbout(problem, key)),
  );
  // Another file than the one that was meant would tell of another robot.
  if (wrong.includes('config')) return NOTHING;
  // The two are one setting in two forms.
  if (wrong.includes('token') || wrong.includes('tokenFile')) wrong.push('token', 'tokenFile');
  const patch = wrong.map((key) => [SETTINGS[key].env, PLACEHOLDERS[key] ?? SETTINGS[key].default ?? '']);
  try {
    const withoutPolicy = problems.some(({ field }) => /^policy\b/.test(field));
    const settings = usable(loadConfig({ ...env, ...Object.fromEntries(patch) }, { withoutPolicy }), wrong);
    return withoutPolicy ? { ...settings, policy: null } : settings;
  } catch (error) {
    if (error instanceof ConfigError) return NOTHING;
    throw error;
  }
}

function isAbout({ field }: ConfigProblem, key: SettingKey): boolean {
  const { env, yaml }: Setting = SETTINGS[key];
  return field.split(' and ').some((one) => one === env || (yaml !== null && one.startsWith(`${yaml} in `)));
}

function usable(config: Config, wrong: readonly SettingKey[]): UsableSettings {
  const { httpUrl, linkUrl, token, ros, dataDir, policy: rules, composeRules, compose } = config;
  return {
    unread: false,
    address: wrong.includes('url') ? null : { httpUrl, linkUrl },
    token: wrong.includes('token') ? null : token,
    ros: wrong.includes('ros') ? null : ros,
    dataDir: wrong.includes('dataDir') ? null : dataDir,
    policy: { rules, compose: composeRules },
    project: wrong.includes('composeProject') ? null : compose.project,
  };
}

function describe({ httpUrl, token, dataDir, ros }: Config): string {
  const tokenPlace = 'file' in token ? `token in ${token.file}` : 'token set';
  return `cloud ${httpUrl}, ${tokenPlace}, data in ${dataDir}, ROS ${ros}`;
}

function origin(env: Environment): string {
  const set = Object.values<Setting>(SETTINGS).filter((setting) => isSet(env, setting));
  const names = set.filter((setting) => setting.env !== SETTINGS.config.env).map((setting) => setting.env);
  const path = configPath(env);
  const file = existsSync(path) ? path : `no ${path}`;
  return [...(names.length > 0 ? [names.join(', ')] : []), file, 'defaults'].join('; ');
}

/** Who reads the token can act as this robot. */
function openToOthers({ token }: Config, env: Environment): readonly Finding[] {
  if (!('file' in token) && isSet(env, SETTINGS.token)) return [];
  const path = 'file' in token ? token.file : configPath(env);
  if ((statSync(path).mode & 0o007) === 0) return [];
  const message = `${path} holds the token and is open to every user of this machine`;
  return [{ status: 'warn', message, remedy: `chmod o= ${path}` }];
}

function configPath(env: Environment): string {
  return env[SETTINGS.config.env] || SETTINGS.config.default;
}

function isSet(env: Environment, setting: Setting): boolean {
  return (env[setting.env] ?? '') !== '';
}
