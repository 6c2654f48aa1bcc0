import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tempDataDir } from '../../spool/fixture.js';
import { Engine } from './engine.js';
import { EngineRefusedError, EngineUnavailableError, engineError } from './engine-error.js';

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

it("is quoted in the engine's own words, without those that the way to it puts before them", () => {
  const cause = Object.assign(new Error('(HTTP code 500) server error - Get "https://registry": no such host '), {
    statusCode: 500,
  });
  const error = engineError(cause, 'unix:///var/run/docker.sock');
  expect(error).toBeInstanceOf(EngineRefusedError);
  expect(error.message).toBe('Get "https://registry": no such host');
});
