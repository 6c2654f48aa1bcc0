import { misspeltSettings } from '@drover/shared/settings/misspelt';
import { z } from 'zod';
import { checkNamespace, REMAP_RULES_MAX, readRemapRule } from './ros/name-resolution.js';

/**
 * Every setting of the agent, once: the environment, agent.yaml, `--help` and the docs are all made from this table.
 * Values arrive as text from the environment and as scalars from YAML, so each schema takes a string.
 */
export interface Setting {
  readonly env: `DROVER_${string}`;
  /** Key in agent.yaml; null where the setting only makes sense in the environment. */
  readonly yaml: string | null;
  readonly schema: z.ZodType<unknown, string>;
  readonly default: string | null;
  readonly description: string;
  /** In agent.yaml it may also be a list of texts. */
  readonly list?: true;
}

export const ROS_CHOICES = ['auto', 'rclnodejs', 'simulated'] as const;
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const flag = z
  .string()
  .toLowerCase()
  .refine((text) => ['0', '1', 'true', 'false'].includes(text), 'use 1 (or true) or 0 (or false)')
  .transform((text) => text === '1' || text === 'true');

const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'use a whole number')
    .transform(Number)
    .refine((n) => n >= least && n <= most, `use a number from ${least} to ${most}`);

/** Printable ASCII without spaces: anything else can't stand in an Authorization header. */
const token = z
  .string()
  .trim()
  .min(8, 'is too short for a robot token (they begin with drt_)')
  .max(512, 'is too long for a robot token')
  .regex(
    /^[\x21-\x7e]*$/,
    'holds characters that no robot token has (spaces, quotes of another alphabet, line breaks)',
  );

const namespace = z.string().superRefine((text, context) => {
  const wrong = checkNamespace(text);
  if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
});

const remapRules = z.string().transform((text, context) => {
  const read = text.split(/\s+/).flatMap((rule) => (rule === '' ? [] : [readRemapRule(rule)]));
  const wrong = read.filter((rule) => typeof rule === 'string');
  if (read.length > REMAP_RULES_MAX) wrong.push(`${read.length} remaps are too many: at most ${REMAP_RULES_MAX}`);
  for (const message of wrong) context.addIssue({ code: 'custom', message });
  return read.filter((rule) => typeof rule !== 'string');
});

export const SETTINGS = {
  url: {
    env: 'DROVER_URL',
    yaml: 'url',
    schema: z.string(),
    default: null,
    description: "The cloud's address, http(s):// or ws(s)://. Clear text only to this machine itself.",
  },
  token: {
    env: 'DROVER_TOKEN',
    yaml: 'token',
    schema: token,
    default: null,
    description: "The robot's token, as POST /robots returned it.",
  },
  tokenFile: {
    env: 'DROVER_TOKEN_FILE',
    yaml: 'token_file',
    schema: z.string(),
    default: null,
    description: 'A file that holds the token, instead of the token itself. Read again at every connect.',
  },
  dataDir: {
    env: 'DROVER_DATA_DIR',
    yaml: 'data_dir',
    schema: z.string(),
    default: './drover-agent-data',
    description:
      'Where the inbox of commands, the spool of data and the desired state are kept. One agent a directory.',
  },
  ros: {
    env: 'DROVER_ROS',
    yaml: 'ros',
    schema: z.enum(ROS_CHOICES, `use one of ${ROS_CHOICES.join(', ')}`),
    default: 'auto',
    description:
      'Which ROS graph to join: rclnodejs (ROS 2), simulated (a robot inside the agent), auto (ROS 2 if sourced).',
  },
  rosNamespace: {
    env: 'DROVER_ROS_NAMESPACE',
    yaml: 'ros_namespace',
    schema: namespace,
    default: '/',
    description:
      "Namespace of the agent's node: relative names (cmd_vel) are in it, private ones (~/x) below the node.",
  },
  rosRemap: {
    env: 'DROVER_ROS_REMAP',
    yaml: 'ros_remap',
    schema: remapRules,
    default: null,
    description:
      'Remaps of topics, services and actions as in ros2, FROM:=TO with spaces between them; a list in YAML. The first wins.',
    list: true,
  },
  allowInsecure: {
    env: 'DROVER_ALLOW_INSECURE',
    yaml: 'allow_insecure',
    schema: flag,
    default: '0',
    description: '1 allows clear text (http://, ws://) to another machine: anyone on the way can read and command.',
  },
  batteryTopic: {
    env: 'DROVER_BATTERY_TOPIC',
    yaml: 'battery_topic',
    schema: z.string().regex(/^(\/[A-Za-z_][A-Za-z0-9_]*)+$/, 'use an absolute topic name such as /battery_state'),
    default: '/battery_state',
    description: 'The sensor_msgs/msg/BatteryState topic that the battery vital comes from.',
  },
  spoolMaxMb: {
    env: 'DROVER_SPOOL_MAX_MB',
    yaml: 'spool_max_mb',
    schema: wholeNumber(1, 1_000_000),
    default: '1000',
    description:
      'Data kept on disk while the cloud is away, in MB; past it the oldest of the biggest stream is dropped.',
  },
  spoolMaxAgeDays: {
    env: 'DROVER_SPOOL_MAX_AGE_DAYS',
    yaml: 'spool_max_age_days',
    schema: wholeNumber(1, 3650),
    default: '7',
    description:
      'How long data may wait on disk while the cloud is away, in days; what has waited for longer is dropped, counted.',
  },
  spoolMemoryMb: {
    env: 'DROVER_SPOOL_MEMORY_MB',
    yaml: 'spool_memory_mb',
    schema: wholeNumber(1, 1_000),
    default: '16',
    description: 'Data kept in memory while the disk takes no writes, in MB; past it the oldest is dropped, counted.',
  },
  composeProject: {
    env: 'DROVER_COMPOSE_PROJECT',
    yaml: 'compose_project',
    schema: z
      .string()
      .max(63, 'use at most 63 characters')
      .regex(/^[a-z0-9][a-z0-9_-]*$/, 'use lower-case letters, digits, - and _, a letter or digit first'),
    default: 'drover',
    description:
      'Name of the compose project of what is deployed here. Agents that share a Docker Engine need one each.',
  },
  composeHealthTimeoutS: {
    env: 'DROVER_COMPOSE_HEALTH_TIMEOUT_S',
    yaml: 'compose_health_timeout_s',
    schema: wholeNumber(1, 86_400),
    default: '60',
    description:
      'How long a new version of a compose file may take to become healthy before the last good one returns.',
  },
  composeLockFile: {
    env: 'DROVER_COMPOSE_LOCK_FILE',
    yaml: 'compose_lock_file',
    schema: z.string(),
    default: null,
    description:
      "A file by whose lock (`flock FILE program`) the robot's programs hold a change of its containers off. " +
      'Without it: compose/update.lock in the data directory.',
  },
  logLevel: {
    env: 'DROVER_LOG_LEVEL',
    yaml: 'log_level',
    schema: z.enum(LOG_LEVELS, `use one of ${LOG_LEVELS.join(', ')}`),
    default: 'info',
    description: "The agent's own log on stdout.",
  },
  config: {
    env: 'DROVER_CONFIG',
    yaml: null,
    schema: z.string(),
    default: '/etc/drover/agent.yaml',
    description: 'A YAML file with any of the settings under their YAML keys. The environment wins over it.',
  },
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof SETTINGS;
/** What each setting's schema makes of its text. */
export type SettingValues = { [K in SettingKey]: z.output<(typeof SETTINGS)[K]['schema']> };

/** Warnings about variables that look like a setting written wrongly. */
export function misspelt(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return misspeltSettings(
    env,
    Object.values<Setting>(SETTINGS).map((known) => known.env),
  );
}

/** The settings as the last part of `--help`. */
export function settingsHelp(): string {
  const lines = Object.values<Setting>(SETTINGS).map((setting) => {
    const names = setting.yaml === null ? setting.env : `${setting.env} (yaml: ${setting.yaml})`;
    const standard = setting.default === null ? '' : ` [${setting.default}]`;
    return `  ${names}${standard}\n      ${setting.description}`;
  });
  const ros = '  ROS_DOMAIN_ID, RMW_IMPLEMENTATION, …\n      As for every ROS 2 node.';
  const policy =
    '  policy (agent.yaml only)\n      Which topics, services and actions the cloud may use, without it all (docs/guide.md); and what deployments may have' +
    '\n      of this robot, without it nothing that gives them the robot itself (docs/deployments.md).';
  const docker =
    '  DOCKER_HOST, DOCKER_CONFIG, DOCKER_TLS_VERIFY, …\n      As for the docker program: where deployments go, and with which logins. PATH, HOME and these are all they see.';
  return `Settings (an empty variable counts as not set):\n${lines.join('\n')}\n${policy}\n${ros}\n${docker}`;
}
