import type { ComposeLogsAnswer, ComposePlanAnswer } from '@drover/shared/link/compose-answers';
import type { Config } from '../config.js';
import type { Compose } from './compose.js';
import { readLogs } from './docker/logs.js';
import { type AgentFiles, lookAround } from './document/surroundings.js';
import { DryRun } from './dry-run/dry-run.js';

/** Answers to the cloud's questions about compose. Only looks: nothing that runs changes for a question. */
export class ComposeQuestions {
  readonly #compose: Compose;
  readonly #dryRun: DryRun;

  constructor(compose: Compose, config: AgentFiles & Pick<Config, 'composeRules'>) {
    this.#compose = compose;
    const { engine, cli } = compose;
    this.#dryRun = new DryRun({
      ...{ engine, cli, rules: config.composeRules },
      lookAround: () => lookAround(config, engine),
      owner: () => compose.owner,
      running: () => compose.running,
      containers: () => engine.containers(cli.project),
    });
  }

  async plan(content: Readonly<Record<string, unknown>>): Promise<ComposePlanAnswer> {
    return await this.#dryRun.answer(content);
  }

  /** @throws UnknownServiceError, EngineUnavailableError, EngineRefusedError */
  async logs(wanted: { readonly service: string; readonly tail: number }): Promise<ComposeLogsAnswer> {
    const { engine, cli, owner } = this.#compose;
    const containers = await engine.containers(cli.project);
    const ours = containers.filter(({ robot, agent }) => robot === owner.robot || agent === owner.agent);
    return await readLogs(engine, ours, wanted);
  }
}
