import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { Compose } from './compose.js';
import { prepareDocument } from './document/prepare.js';
import { type AgentFiles, lookAround } from './document/surroundings.js';

/** Compose deployments as the settings say. */
export function openCompose(
  config: AgentFiles & Pick<Config, 'composeRules'>,
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
      ({ cli, engine }) =>
      (content, signal) => {
        const around = () => lookAround(config, engine);
        return prepareDocument(content, { cli, rules: config.composeRules, lookAround: around, signal });
      },
  });
}
