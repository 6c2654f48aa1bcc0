import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tempDataDir } from '../../spool/fixture.js';
import { Engine } from './engine.js';
import { EngineUnavailableError } from './engine-error.js';

it('has an engine that takes a question and never answers count as none', async () => {
  const path = join(tempDataDir(), 'docker.sock');
  const hung = createServer().listen(path);
  const asked = once(hung, 'request');
  await once(hung, 'listening');
  onTestFinished(async () => {
    hung.closeAllConnections();
    await new Promise((resolve) => hung.close(resolve));
  });
  const engine = new Engine({ DOCKER_HOST: `unix://${path}` }, 50);
  const error = await engine.look((docker) => docker.version()).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(EngineUnavailableError);
  expect(String(error)).toContain('has not answered in 50 ms');
  // On a busy machine it comes later than it was given up.
  const [{ url }] = await asked;
  expect(url).toContain('/version');
});
