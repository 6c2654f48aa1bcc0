import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { DockerCli, describeOwnEngine } from './docker.js';
import { TestImages } from './images.js';
import { OwnEngine } from './own-engine.js';

describeOwnEngine('an engine of our own', () => {
  it('has its own containers, keeps them when it is killed and started again, and leaves nothing', async () => {
    const engine = await OwnEngine.start('apart');
    try {
      const docker = new DockerCli(engine.host);
      const image = await new TestImages(docker).make('runs');
      const id = await docker.run('run', '-d', '--restart', 'always', image);
      expect(await docker.lines('ps', '-q', '--no-trunc')).toEqual([id]);
      await engine.kill9();
      expect((await docker.try('ps')).code).not.toBe(0);
      await engine.start();
      await expect.poll(() => docker.run('inspect', '-f', '{{.State.Running}}', id)).toBe('true');
      await engine.kill9();
    } finally {
      await engine.dispose();
    }
    expect(existsSync(engine.folder)).toBe(false);
  });
});
