import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { Compose } from './compose.js';
import { prepareDocument } from './document/prepare.js';
import { type AgentFiles, lookAround } from './document/surroundings.js';

/** Far above what compose takes for a large document on a small robot; one that hangs is not to hold up what is assigned next. */
const CONFIG_MS_MAX = 60_000;

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
        return prepareDocument(content, {
          cli,
          rules: config.composeRules,
          lookAround: around,
          signal,
          configMsMax: CONFIG_MS_MAX,
        });
      },
  });
}
