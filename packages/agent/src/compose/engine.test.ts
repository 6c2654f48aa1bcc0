import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tempDataDir } from '../spool/fixture.js';
import { Engine } from './engine.js';
import { EngineUnavailableError } from './engine-error.js';

it('has an engine that takes a question and never answers count as none', async () => {
  const path = join(tempDataDir(), 'docker.sock');
  const asked: string[] = [];
  const hung = createServer(({ url }) => void asked.push(url ?? '')).listen(path);
  await once(hung, 'listening');
  onTestFinished(async () => {
    hung.closeAllConnections();
    await new Promise((resolve) => hung.close(resolve));
  });
  const engine = new Engine({ DOCKER_HOST: `unix://${path}` }, 50);
  const error = await engine.look((docker) => docker.version()).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(EngineUnavailableError);
  expect(String(error)).toContain('has not answered in 50 ms');
  expect(asked.join()).toContain('/version');
});
