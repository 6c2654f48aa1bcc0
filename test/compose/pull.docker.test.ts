import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeRegistry } from '../support/docker/docker.js';
import { DockerRobot, ROBOT, runs } from '../support/docker/docker-robot.js';
import { TestImages } from '../support/docker/images.js';
import { LOGIN, TestRegistry } from '../support/docker/registry.js';

describeRegistry('an image that is pulled', () => {
  let registry: TestRegistry;
  let robot: DockerRobot;
  let images: TestImages;
  let local: string;
  /** Where the robot's docker keeps its logins, and where that of who pushes does. */
  let folder: string;
  let ours: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'drover-pull-'));
    ours = await mkdtemp(join(tmpdir(), 'drover-push-'));
    const env = { DOCKER_CONFIG: folder };
    [registry, robot] = await Promise.all([TestRegistry.start(), DockerRobot.start({ env })]);
    images = new TestImages(robot.docker, registry.address);
    local = await robot.images.make('runs');
  });

  afterAll(async () => {
    await robot?.stop();
    await images?.remove();
    await registry?.stop();
    for (const one of [folder, ours]) await rm(one, { recursive: true, force: true });
  });

  /** In the registry, and not on the robot. */
  async function pushed(tag: string, payloadMb = 0): Promise<string> {
    const image = await images.make('runs', tag, payloadMb);
    await robot.docker.run('push', image);
    await images.forget(image);
    return image;
  }

  it('shows how far it is, while what ran before runs on', async () => {
    const good = await robot.deploy({ services: { nav: runs(local) } });
    const image = await pushed('big', 12);
    registry.bytesPerSecond = 4 * 1024 * 1024;
    const id = await robot.store({ services: { nav: runs(image) } });
    await robot.assign(id);
    const percent = ({ images: shown }: { images: { image: string; percent: number | null }[] }) =>
      shown.find((one) => one.image === image)?.percent ?? 0;
    const early = await robot.detail((detail) => percent(detail) > 0);
    expect(early).toMatchObject({ phase: 'pulling', running: { id: good }, images: [{ image, state: 'pulling' }] });
    expect(await robot.running()).toEqual([`nav ${local} running`]);
    // A cloud that starts anew shows it too.
    await robot.cloud.crashAndRestart();
    const later = await robot.detail((detail) => percent(detail) > percent(early));
    expect(percent(later)).toBeLessThanOrEqual(100);
    registry.bytesPerSecond = Number.POSITIVE_INFINITY;
    expect((await robot.settled()).state).toBe('up');
    expect(await robot.detail()).toMatchObject({ images: [{ image, state: 'present', percent: 100 }] });
    expect(await robot.running()).toEqual([`nav ${image} running`]);
  });

  it('is begun anew where the agent is killed meanwhile', async () => {
    const image = await pushed('killed', 12);
    registry.bytesPerSecond = 4 * 1024 * 1024;
    const id = await robot.store({ services: { nav: runs(image) } });
    await robot.assign(id);
    await robot.detail(({ phase, images: shown }) => phase === 'pulling' && (shown[0]?.percent ?? 0) > 0);
    await robot.agent.crashAndRestart();
    registry.bytesPerSecond = Number.POSITIVE_INFINITY;
    await robot.cloud.online(ROBOT);
    expect(await robot.settled()).toMatchObject({ id, state: 'up' });
    expect(await robot.running()).toEqual([`nav ${image} running`]);
  });

  it.each([
    ['a tag that is not there', () => `${images.repository}:nowhere`, /not found|unknown/],
    ['a registry that is not there', () => '127.0.0.1:1/nobody/nothing:1', /refused/],
  ])('is named with the words of the engine where it can not be had: %s', async (_what, image, words) => {
    const good = await robot.deploy({ services: { nav: runs(local) } });
    const failed = await robot.deploy({ services: { nav: runs(image()) } }, 'error');
    const detail = await robot.detail();
    expect(detail).toMatchObject({
      error_code: 'image_pull_failed',
      running: { id: good },
      failed: { id: failed, error_code: 'image_pull_failed' },
      images: [{ image: image(), state: 'failed' }],
    });
    expect(JSON.stringify(detail)).toMatch(words);
    expect(detail.error_message).toContain(image());
    expect(await robot.running()).toEqual([`nav ${local} running`]);
  });

  it("can be had with the login that its registry asks for, once the robot's docker has it, and not without", async () => {
    const closed = await TestRegistry.start({ closed: true });
    const there = new TestImages(robot.docker, closed.address);
    const auths = { [closed.address]: { auth: Buffer.from(`${LOGIN.user}:${LOGIN.password}`).toString('base64') } };
    const config = join(folder, 'config.json');
    try {
      const image = await there.make('runs');
      await writeFile(join(ours, 'config.json'), JSON.stringify({ auths }));
      await robot.docker.run('--config', ours, 'push', image);
      await there.forget(image);
      const id = await robot.deploy({ services: { nav: runs(image) } }, 'error');
      const detail = await robot.detail();
      expect(detail).toMatchObject({ error_code: 'image_pull_failed' });
      expect(detail.engine_words).toMatch(/no basic auth credentials|unauthorized/i);
      await writeFile(config, JSON.stringify({ auths }));
      await robot.assign(id);
      expect((await robot.settled()).state).toBe('up');
      expect(await robot.running()).toEqual([`nav ${image} running`]);
      expect(JSON.stringify(await robot.detail())).not.toContain(LOGIN.password);
    } finally {
      await rm(config, { force: true });
      await robot.remove();
      await robot.settled();
      await there.remove();
      await closed.stop();
    }
  });

  it('comes when its registry is back and it is assigned again', async () => {
    const image = await pushed('back');
    await registry.shut();
    const id = await robot.deploy({ services: { nav: runs(image) } }, 'error');
    expect(await robot.detail()).toMatchObject({ error_code: 'image_pull_failed' });
    await registry.open();
    await robot.assign(id);
    expect((await robot.settled()).state).toBe('up');
  });

  it('is planned with its size, without being pulled', async () => {
    const image = await pushed('planned', 2);
    const plan = await robot.plan({ content: { services: { nav: runs(image) } } });
    expect(plan).toMatchObject({
      status: 200,
      body: { ok: true, images: [{ image, present: false, pull: true }], refusals: [], error: null },
    });
    const { images: planned, disk } = plan.body as { images: { download_bytes: number }[]; disk: object };
    expect(planned[0]?.download_bytes).toBeGreaterThan(2 * 1024 * 1024);
    expect(disk).toMatchObject({ needed_bytes: planned[0]?.download_bytes, fits: true });
    expect((await robot.docker.try('inspect', image)).code).not.toBe(0);
  });

  it('is pulled again, where the document asks for that, and found changed', async () => {
    const image = await pushed('moving');
    const id = await robot.deploy({ services: { nav: runs(image, { pull_policy: 'always' }) } });
    const before = (await robot.containers())[0]?.id;
    // Another image under the same name, in the registry alone.
    const held = await robot.docker.run('inspect', '-f', '{{.Id}}', image);
    await images.make('runs', 'moving', 1);
    await robot.docker.run('push', image);
    await robot.docker.run('tag', held, image);
    await robot.assign(id);
    expect((await robot.settled()).state).toBe('up');
    const [after] = await robot.containers();
    expect(after?.id).not.toBe(before);
    expect(await robot.docker.run('exec', after?.id ?? '', 'ls', '/payload')).toBe('/payload');
  });
});
