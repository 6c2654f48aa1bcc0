import { z } from 'zod';
import { parseJson } from '../../parse-json.js';
import { credentialsFor } from '../docker/credentials.js';
import type { DockerEnv } from '../docker/docker-env.js';
import type { Engine } from '../docker/engine.js';
import { EngineRefusedError } from '../docker/engine-error.js';
import { DeployError } from '../document/deploy-error.js';

/** A line of the engine's progress. */
const progressSchema = z.object({
  id: z.string().optional(),
  status: z.string().optional(),
  error: z.string().optional(),
  progressDetail: z.object({ current: z.number().optional(), total: z.number().optional() }).optional(),
});

/** What is downloaded is still to be unpacked. */
const PERCENT_MAX = 99;

export interface PullOptions {
  readonly engine: Engine;
  readonly env: DockerEnv;
  readonly image: string;
  readonly platform: string | null;
  readonly signal: AbortSignal;
  /** 0..100, never less than before; null until the registry has told a size. */
  readonly onProgress: (percent: number | null) => void;
}

/**
 * Has the engine pull an image, with the credentials that docker would use.
 * @throws DeployError image_pull_failed, EngineUnavailableError, or the signal's reason.
 */
export async function pullImage({ engine, env, image, platform, signal, onProgress }: PullOptions): Promise<void> {
  const authconfig = await credentialsFor(image, env);
  signal.throwIfAborted();
  const options = { ...(authconfig && { authconfig }), ...(platform !== null && { platform }), abortSignal: signal };
  const progress = new PullProgress();
  try {
    await engine.ask(async (docker) => {
      const stream = await docker.pull(image, options);
      let rest = '';
      let end = '';
      for await (const chunk of stream) {
        const lines = (rest + String(chunk)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) end = progress.read(line) ?? end;
        onProgress(progress.percent);
      }
      if (end !== '') throw failed(image, end);
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof EngineRefusedError) throw failed(image, error.message);
    throw error;
  }
}

function failed(image: string, words: string): DeployError {
  return new DeployError('image_pull_failed', `${image} can't be pulled: ${words}`, words);
}

/** What has been downloaded of what, layer by layer. */
export class PullProgress {
  readonly #layers = new Map<string, { current: number; total: number | null }>();
  #percent: number | null = null;

  get percent(): number | null {
    return this.#percent;
  }

  /** @returns the engine's words where the line says that the pull has failed. */
  read(line: string): string | null {
    const read = progressSchema.safeParse(parseJson(line));
    if (!read.success) return null;
    const { id, status, error, progressDetail } = read.data;
    if (error !== undefined) return error;
    if (id === undefined || status === undefined) return null;
    const layer = this.#layers.get(id) ?? { current: 0, total: null };
    const { current, total } = progressDetail ?? {};
    if (status === 'Downloading' && current !== undefined && total !== undefined && total > 0) {
      this.#layers.set(id, { current: Math.min(current, total), total });
    } else if (status === 'Pulling fs layer' || status === 'Waiting') {
      this.#layers.set(id, layer);
    } else if (status === 'Download complete' || status === 'Pull complete') {
      this.#layers.set(id, { current: layer.total ?? 0, total: layer.total ?? 0 });
    }
    this.#percent = this.#count();
    return null;
  }

  #count(): number | null {
    const layers = [...this.#layers.values()];
    const known = layers.flatMap(({ total }) => (total === null || total === 0 ? [] : [total]));
    if (known.length === 0) return this.#percent;
    // One that has not begun is taken to be as large as the others are on the average.
    const average = known.reduce((sum, total) => sum + total, 0) / known.length;
    const all = layers.reduce((sum, { total }) => sum + (total ?? average), 0);
    const here = layers.reduce((sum, { current }) => sum + current, 0);
    return Math.max(this.#percent ?? 0, Math.min(PERCENT_MAX, Math.floor((100 * here) / all)));
  }
}
