import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { DEFAULT_COMPOSE_RULES } from '../policy/compose-rules.js';
import { Compose } from './compose.js';
import { prepareDocument } from './prepare.js';

/** Compose deployments as the settings say. */
export function openCompose(
  config: Pick<Config, 'dataDir' | 'compose'>,
  means: {
    readonly newId: () => string;
    readonly monotonicNow: () => number;
    readonly wallNow: () => number;
    readonly log: Logger;
  },
): Compose {
  const { project, healthTimeoutS, lockFile, env } = config.compose;
  return new Compose({
    ...{ dataDir: config.dataDir, project, healthWindowMs: healthTimeoutS * 1000, lockFile, env },
    ...means,
    prepare:
      ({ cli }) =>
      (content, signal) =>
        prepareDocument(content, { cli, rules: DEFAULT_COMPOSE_RULES, surroundings: SURROUNDINGS, signal }),
  });
}

const SURROUNDINGS = {
  project: '',
  secrets: [],
  programs: [],
  engineSockets: [],
  foreignVolumes: new Set<string>(),
  foreignNetworks: new Set<string>(),
  realPath: (path: string) => path,
  isBlockDevice: () => false,
};
