import { afterEach, beforeEach, expect, it } from 'vitest';
import { DockerCli, describeOwnEngine } from '../support/docker/docker.js';
import { DockerRobot, ROBOT, runs } from '../support/docker/docker-robot.js';
import { OwnEngine } from '../support/docker/own-engine.js';

describeOwnEngine('an engine that comes and goes', () => {
  let engine: OwnEngine;
  let robot: DockerRobot;
  let image: string;

  beforeEach(async () => {
    engine = await OwnEngine.start('apart');
    robot = await DockerRobot.start({ docker: new DockerCli(engine.host) });
    image = await robot.images.make('runs');
  });

  afterEach(async () => {
    await robot?.stop();
    await engine?.dispose();
  });

  it('is docker_unavailable while it is not there, and the deployment comes up when it appears', async () => {
    await engine.stop();
    const id = await robot.deploy({ services: { nav: runs(image) } }, 'error');
    expect(await robot.detail()).toMatchObject({ error_code: 'docker_unavailable', running: null });
    expect((await robot.cloud.get<{ online: boolean }>(`/robots/${ROBOT}`)).online).toBe(true);
    await robot.agent.crashAndRestart();
    await engine.start();
    await robot.until(({ state }) => state === 'up');
    expect(await robot.detail()).toMatchObject({ id, error_code: null, running: { id }, failed: null });
    expect(await robot.running()).toEqual([`nav ${image} running`]);
  });

  it('takes a deployment with it and gives it back, as a restart of the machine does', async () => {
    const id = await robot.deploy({
      services: { nav: runs(image), always: runs(image, { restart: 'always' }) },
    });
    await engine.stop();
    await robot.agent.crashAndRestart();
    await engine.start();
    await expect.poll(() => robot.running()).toEqual([`always ${image} running`, `nav ${image} running`]);
    await robot.until(({ state }) => state === 'up');
    expect(
      await robot.services((all) => all.length === 2 && all.every(({ state }) => state === 'running')),
    ).toHaveLength(2);
    expect(await robot.detail()).toMatchObject({ running: { id } });
  });

  it('is taken down when it is back, where the removal came while it was away', async () => {
    await robot.deploy({ services: { nav: runs(image) } });
    await engine.stop();
    await robot.remove();
    await engine.start();
    await robot.until(({ state }) => state === 'down');
    expect(await robot.running()).toEqual([]);
  });
});
