import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DockerCli, describeRegistry } from './docker.js';
import { TestImages } from './images.js';
import { LOGIN, TestRegistry } from './registry.js';

describeRegistry('the images and registry of tests', () => {
  const docker = new DockerCli();
  let registry: TestRegistry;
  let images: TestImages;
  let local: TestImages;

  beforeAll(async () => {
    registry = await TestRegistry.start();
    images = new TestImages(docker, registry.address);
    local = new TestImages(docker);
  });

  afterAll(async () => {
    await images?.remove();
    await local?.remove();
    await registry?.stop();
    expect(await docker.lines('images', '-q', `${local.repository}`)).toEqual([]);
  });

  it('do what their names say', async () => {
    expect(await docker.run('run', '--rm', await local.make('exits-0'))).toBe('');
    expect(await docker.try('run', '--rm', await local.make('exits-3'))).toMatchObject({ code: 3 });
    const [one, two] = [await local.make('runs', '1'), await local.make('runs', '2')];
    expect(await docker.run('run', '--rm', one, 'cat', '/etc/version')).toBe('1');
    expect(await docker.run('run', '--rm', two, 'cat', '/etc/version')).toBe('2');
    const health = await docker.run('inspect', '-f', '{{.Config.Healthcheck.Test}}', await local.make('never-healthy'));
    expect(health).toContain('the lidar is dark');
  });

  it('are all removed, those too whose name another has taken', async () => {
    const some = new TestImages(docker);
    const ids: string[] = [];
    for (const _ of ['one', 'its successor']) {
      ids.push(await docker.run('inspect', '-f', '{{.Id}}', await some.make('runs')));
    }
    expect(ids[0]).not.toBe(ids[1]);
    await some.remove();
    for (const id of ids) expect((await docker.try('inspect', id)).code).not.toBe(0);
  });

  it('can be pushed, forgotten and pulled, slowly too, and not pulled while the door is shut', async () => {
    const image = await images.make('runs', '1', 4);
    await docker.run('push', image);
    await images.forget(image);
    expect((await docker.try('inspect', image)).code).not.toBe(0);
    registry.bytesPerSecond = 8 * 1024 * 1024;
    await docker.run('pull', image);
    await images.forget(image);
    await registry.shut();
    expect((await docker.try('pull', image)).stderr).toContain('connection refused');
    await registry.open();
    await docker.run('pull', image);
    expect((await docker.try('pull', `${images.repository}:nowhere`)).stderr).toContain('not found');
  });

  it('ask for a login where the registry is closed', async () => {
    const closed = await TestRegistry.start({ closed: true });
    try {
      const name = `${closed.address}/${randomBytes(4).toString('hex')}:1`;
      expect((await docker.try('pull', name)).stderr).toContain('no basic auth credentials');
      const answer = await fetch(`http://${closed.address}/v2/`, {
        headers: { authorization: `Basic ${btoa(`${LOGIN.user}:${LOGIN.password}`)}` },
      });
      expect(answer.status).toBe(200);
    } finally {
      await closed.stop();
    }
  });
});
