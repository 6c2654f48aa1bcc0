import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { DEFAULT_COMPOSE_RULES } from '../policy/compose-rules.js';
import { dockerEnv } from './docker/docker-env.js';
import { openCompose } from './open.js';

/**
 * A program that deploys what its arguments say and prints each status as a line, to be killed on the way.
 * Arguments: the data directory, the project, the health timeout in seconds, what is desired of compose as JSON.
 */
const [dataDir = '', project = '', timeout = '', wanted = ''] = process.argv.slice(2);
const log = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }));
const settings = { project, healthTimeoutS: Number(timeout), lockFile: null, env: dockerEnv(process.env) };
const means = { newId: randomUUID, monotonicNow: () => performance.now(), wallNow: Date.now, log };
const files = { dataDir, token: { token: 'drt_test' }, configFile: '/etc/drover/agent.yaml' };
const compose = openCompose({ ...files, compose: settings, composeRules: DEFAULT_COMPOSE_RULES }, means);
compose.opened({ send: (status) => void process.stdout.write(`${JSON.stringify(status)}\n`) }, { link_version: 5 });
compose.apply(JSON.parse(wanted), 'robot-1');
setInterval(() => {}, 1_000_000);
