import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFailed } from 'vitest';
import { DockerCli, describeOwnEngine } from '../support/docker/docker.js';
import { type Content, DockerRobot, ROBOT, runs } from '../support/docker/docker-robot.js';
import { OwnEngine } from '../support/docker/own-engine.js';
import { Draw } from '../support/draw.js';

/**
 * Deployments, each of them hit once at a moment drawn from the seed: the agent by kill -9, or the engine by a restart (asked to
 * end, or killed). `npm run deployments` runs many.
 */
const KILLS = Number(process.env.DROVER_TEST_DEPLOYMENTS_KILLS ?? 5);
const RESTARTS = Number(process.env.DROVER_TEST_DEPLOYMENTS_RESTARTS ?? 2);
const SEED = Number(process.env.DROVER_TEST_DEPLOYMENTS_SEED ?? 1 + Math.floor(Math.random() * 1e6));

/** A round that does not end in the desired state within this, hasn't. */
const ROUND_MS_MAX = 150_000;
const DISTURBANCES = ['kill -9 of the agent', 'restart of dockerd', 'kill -9 of dockerd'] as const;
type Disturbance = (typeof DISTURBANCES)[number];
type Change = 'update' | 'remove' | 'failing update';

describeOwnEngine(`a deployment that is hit (seed ${SEED})`, () => {
  const draw = new Draw(SEED);
  let engine: OwnEngine;
  let robot: DockerRobot;
  let versions: { id: string; containers: string[] }[];
  let failing: string;
  let usualMs = 0;
  /** Index of the version that is good; null = none is there. */
  let good: number | null = null;

  beforeAll(async () => {
    engine = await OwnEngine.start('apart');
    const env = { DROVER_LOG_LEVEL: 'debug' };
    robot = await DockerRobot.start({ docker: new DockerCli(engine.host), env });
    const make = (behaviour: 'runs' | 'healthy' | 'never-healthy', tag: string) => robot.images.make(behaviour, tag);
    const images = await Promise.all([make('runs', '1'), make('runs', '2'), make('healthy', '1')]);
    versions = await Promise.all([
      version(images[0], images[2], ['nav', 'arm', 'lidar']),
      version(images[1], images[2], ['nav', 'base', 'lidar']),
    ]);
    const dark = await make('never-healthy', '1');
    failing = await robot.store({ services: { nav: runs(images[0]), other: runs(dark) } });
    const began = performance.now();
    await robot.assign(versions[0]?.id ?? '');
    expect(await robot.settled()).toMatchObject({ state: 'up' });
    usualMs = performance.now() - began;
    good = 0;
    console.log(`seed ${SEED}; a deployment that is left alone takes ${Math.round(usualMs)} ms`);
  });

  afterAll(async () => {
    await robot?.stop();
    await engine?.dispose();
  });

  /** Services of which one waits for another to be healthy, one with a volume, one with a network of its own. */
  async function version(image: string, healthy: string, [a = '', b = '', c = '']: string[]) {
    const again: Content = { restart: 'unless-stopped' };
    const id = await robot.store({
      services: {
        [a]: runs(image, { ...again, depends_on: { [c]: { condition: 'service_healthy' } } }),
        [b]: runs(image, { ...again, volumes: ['maps:/data'], networks: ['default', b] }),
        [c]: runs(healthy, again),
      },
      networks: { [b]: {} },
      volumes: { maps: {} },
    });
    const containers = [`${a} ${image} running`, `${b} ${image} running`, `${c} ${healthy} running`];
    return { id, containers: containers.sort() };
  }

  async function hit(disturbance: Disturbance): Promise<void> {
    if (disturbance === 'kill -9 of the agent') {
      await robot.agent.crashAndRestart();
      return;
    }
    await (disturbance === 'restart of dockerd' ? engine.stop() : engine.kill9());
    await engine.start();
  }

  async function ask(change: Change): Promise<void> {
    if (change === 'remove') return await robot.remove();
    if (change === 'failing update') return await robot.assign(failing);
    good = good === 0 ? 1 : 0;
    await robot.assign(versions[good]?.id ?? '');
  }

  /** What there is to see where a round broke. */
  async function evidence(): Promise<string> {
    return [
      JSON.stringify(await robot.detail(), null, 1),
      await robot.docker.run('ps', '-a', '--no-trunc'),
      await robot.docker.run('network', 'ls'),
      robot.agent.process.text(),
      engine.logTail(60),
    ].join('\n');
  }

  async function endsAsDesired(change: Change): Promise<void> {
    const wanted = { update: 'up', remove: 'down', 'failing update': 'error' }[change];
    if (change === 'remove') good = null;
    // An engine that was away is an error until it is there again.
    const isLast = ({ state, error_code }: { state: string; error_code: string | null }) =>
      ['up', 'down', 'error'].includes(state) && error_code !== 'docker_unavailable';
    expect(await robot.until(isLast, ROUND_MS_MAX)).toMatchObject({ state: wanted });
    const running = good === null ? null : (versions[good] ?? null);
    const detail = await robot.detail(({ phase }) => phase === 'idle');
    expect(detail).toMatchObject({ running: running && { id: running.id } });
    if (change === 'failing update') {
      expect(detail).toMatchObject({ error_code: 'unhealthy', failed: { id: failing, error_code: 'unhealthy' } });
    }
    // All that there is on this engine, whoever it may belong to.
    await expect.poll(() => robot.running()).toEqual(running?.containers ?? []);
    const ids = (await robot.containers()).map(({ id }) => id).sort();
    expect((await robot.docker.lines('ps', '-aq', '--no-trunc')).sort()).toEqual(ids);
    const networks = await robot.docker.lines('network', 'ls', '--filter', 'type=custom', '--format', '{{.Name}}');
    const names = running === null ? [] : ['default', running.containers[0]?.startsWith('arm') ? 'arm' : 'base'];
    // Compose leaves networks that a later version does not have.
    expect(networks).toEqual(expect.arrayContaining(names.map((name) => `${robot.project}_${name}`)));
  }

  const rounds: Disturbance[] = [
    ...Array.from({ length: KILLS }, () => DISTURBANCES[0]),
    ...Array.from({ length: RESTARTS }, (_, n) => (n % 2 === 0 ? DISTURBANCES[1] : DISTURBANCES[2])),
  ];

  it.each(rounds.map((disturbance, n) => ({ round: n + 1, disturbance })))(
    'ends as desired, with nothing twice and nothing left over (round $round, $disturbance)',
    async ({ round, disturbance }) => {
      onTestFailed(async () => console.log(`round ${round} broke:\n${await evidence()}`));
      const change: Change =
        good === null ? 'update' : draw.one(['update', 'update', 'update', 'failing update', 'remove']);
      const afterMs = draw.whole(0, Math.round(usualMs * 1.1));
      console.log(`round ${round}: ${change}, ${disturbance} after ${afterMs} ms`);
      await ask(change);
      await sleep(afterMs);
      const { phase } = await robot.detail();
      await hit(disturbance);
      await robot.cloud.online(ROBOT);
      await endsAsDesired(change);
      console.log(`round ${round}: held (hit while ${phase})`);
    },
    ROUND_MS_MAX * 2,
  );
});
