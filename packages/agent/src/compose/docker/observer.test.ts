import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { silent, tempDataDir } from '../../spool/fixture.js';
import { Engine } from './engine.js';
import { Observer } from './observer.js';

it('asks anew for events where an engine takes the question and never answers', async () => {
  const path = join(tempDataDir(), 'docker.sock');
  const hung = createServer().listen(path);
  await once(hung, 'listening');
  const engine = new Engine({ DOCKER_HOST: `unix://${path}` });
  const observer = new Observer({ engine, project: 'p', log: silent, streamMsMax: 50 });
  onTestFinished(async () => {
    await observer.stop();
    hung.closeAllConnections();
    await new Promise((resolve) => hung.close(resolve));
  });
  observer.start();
  for (let asked = 0; asked < 2; asked += 1) {
    const [{ url }] = await once(hung, 'request');
    expect(url).toContain('/events');
  }
  expect(observer.isWatching).toBe(false);
});
