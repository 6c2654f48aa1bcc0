import type { Engine } from '../docker/engine.js';
import { EngineRefusedError } from '../docker/engine-error.js';
import { DeployError } from './deploy-error.js';

const QUOTED_LENGTH_MAX = 200;

/**
 * The ids of those images that the engine has, by name.
 * @throws DeployError image_pull_failed where it takes one for no name at all, EngineUnavailableError, EngineRefusedError
 */
export async function imagesHere(engine: Engine, names: ReadonlySet<string>): Promise<Map<string, string>> {
  const images = new Map<string, string>();
  for (const name of names) {
    const id = await engine.imageId(name).catch((error: unknown) => {
      if (!(error instanceof EngineRefusedError) || error.status !== 400) throw error;
      const quoted = name.length > QUOTED_LENGTH_MAX ? `${name.slice(0, QUOTED_LENGTH_MAX)}…` : name;
      // Its own words begin with "no such image", and the whole name, whatever is wrong with it.
      const why = error.message.split(`${name}: `).at(-1)?.slice(0, QUOTED_LENGTH_MAX);
      throw new DeployError(
        'image_pull_failed',
        `${JSON.stringify(quoted)} is no name of an image: ${why}`,
        error.message,
      );
    });
    if (id !== null) images.set(name, id);
  }
  return images;
}
