import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ComposePhase } from '@drover/shared/link/compose-status';
import { expect, it, onTestFinished } from 'vitest';
import { NO_SUCH_IMAGE, runs, TestCompose } from './compose.fixture.js';
import { BOX, describeDocker, docker } from './docker/box.fixture.js';
import { EngineWay } from './docker/engine-way.fixture.js';

describeDocker('on a disk that is full', () => {
  it('a deployment waits, says so, and goes on when there is room', async () => {
    const robot = new TestCompose();
    const file = join(robot.dataDir, 'compose/candidate.json');
    symlinkSync('/dev/full', file);
    robot.assign({ web: runs() });
    const waiting = await robot.until(({ state }) => state === 'error');
    expect(waiting).toMatchObject({ phase: 'idle', running: null });
    expect(waiting.error_message).toContain(`the agent's data directory (${robot.dataDir}/compose) is full`);
    rmSync(file);
    await robot.until(({ state }) => state === 'up');
  });
});

describeDocker('without a Docker Engine', () => {
  it('a deployment waits, says so, and goes on when there is one', async () => {
    const way = new EngineWay();
    const robot = new TestCompose({ host: way.host });
    robot.assign({ web: runs() });
    const waiting = await robot.until(({ state }) => state === 'error');
    expect(waiting).toMatchObject({ error_code: 'docker_unavailable', phase: 'idle', running: null });
    expect(waiting.error_message).toContain('systemctl');
    await way.open();
    await robot.until(({ state }) => state === 'up');
  });

  it('what was assigned and never begun is down at once when it is taken away', async () => {
    const robot = new TestCompose({ host: 'unix:///nowhere/docker.sock' });
    robot.assign({ web: runs() });
    await robot.until(({ state }) => state === 'error');
    expect(await robot.settled(robot.remove())).toMatchObject({ state: 'down', error_code: null });
  });

  it('that goes away while a version must become healthy, nothing is held against the version', async () => {
    const way = new EngineWay();
    await way.open();
    const robot = new TestCompose({ host: way.host });
    robot.assign({ web: runs() });
    await robot.until(({ phase }) => phase === 'watching');
    way.close();
    await robot.until(({ error_code }) => error_code === 'docker_unavailable');
    await way.open();
    const up = await robot.until(({ state }) => state === 'up');
    expect(up).toMatchObject({ failed: null, services: [{ service: 'web', state: 'running' }] });
  });

  it('that ends takes containers with it before it is gone, and that is not held against the version', async () => {
    const way = new EngineWay();
    await way.open();
    const robot = new TestCompose({ host: way.host });
    robot.assign({ web: runs() });
    await robot.until(({ phase, services }) => phase === 'watching' && services[0]?.state === 'running');
    way.shut();
    docker('kill', robot.id('web'));
    await robot.until(({ state }) => state === 'error');
    way.close();
    await way.open();
    const up = await robot.until(({ state }) => state === 'up');
    expect(up).toMatchObject({ failed: null, services: [{ service: 'web', state: 'running' }] });
  });

  it('what is up is said to be unknown, and is up again when the engine is there, with what it has lost meanwhile', async () => {
    const way = new EngineWay();
    await way.open();
    const robot = new TestCompose({ host: way.host });
    await robot.settled(robot.assign({ web: runs() }));
    way.close();
    await robot.until(({ error_code }) => error_code === 'docker_unavailable');
    docker('rm', '-f', robot.id('web'));
    await way.open();
    const up = await robot.until(({ state }) => state === 'up');
    expect(up.services).toMatchObject([{ service: 'web', state: 'running' }]);
  });
});

describeDocker('with a Docker Engine that does not tell its events', () => {
  it('a version that becomes healthy late is up', async () => {
    const way = new EngineWay({ isMute: true });
    await way.open();
    const robot = new TestCompose({ host: way.host });
    const healthcheck = { test: ['CMD', 'test', '-e', '/tmp/ready'], interval: '1s', retries: 100 };
    const command = ['sh', '-c', 'sleep 4; touch /tmp/ready; sleep 1000000'];
    const up = await robot.settled(robot.assign({ web: runs({ healthcheck, command }) }));
    expect(up).toMatchObject({ state: 'up', services: [{ service: 'web', health: 'healthy' }] });
  });
});

describeDocker('what is up', () => {
  it('comes back without a word against what is known of the version that failed after it', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs(), more: runs() }));
    await robot.settled(robot.assign({ web: runs({ image: NO_SUCH_IMAGE }) }, { version: 2 }));
    const lost = robot.id('more');
    docker('rm', '-f', lost);
    await robot.until(({ services }) => services.length === 1);
    const back = await robot.until(({ services }) => services.length === 2);
    expect(back).toMatchObject({ error_code: 'image_pull_failed', running: { version: 1 } });
    expect(back.images).toMatchObject([{ image: NO_SUCH_IMAGE, state: 'failed' }]);
  });

  it('is said to run only while there is something of it', async () => {
    const robot = new TestCompose();
    const name = `${robot.project}-x`;
    await robot.settled(robot.assign({ web: runs({ container_name: name }) }));
    await robot.stop();
    docker('rm', '-f', name);
    const thief = docker('create', '--name', name, BOX, 'true');
    onTestFinished(() => void spawnSync('docker', ['rm', '-f', thief]));
    await robot.restart();
    const lost = await robot.until(({ error_code }) => error_code === 'start_failed');
    expect(lost).toMatchObject({ running: null, services: [] });
  });

  it('comes back where somebody has removed a container of it', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs(), more: runs() }));
    const more = robot.id('more');
    docker('rm', '-f', robot.id('web'));
    await robot.until(({ services }) => services.length === 1);
    const up = await robot.until(({ state, services }) => state === 'up' && services.length === 2);
    expect(up.services.map(({ state }) => state)).toEqual(['running', 'running']);
    expect(robot.told).toContain('pending_up starting');
    expect(robot.id('more')).toBe(more);
  });

  it('stays stopped where somebody has stopped it, until the agent starts again', async () => {
    const robot = new TestCompose();
    const services = { web: runs({ restart: 'unless-stopped' }), more: runs() };
    await robot.settled(robot.assign(services));
    docker('stop', robot.id('web'));
    await robot.until((status) => status.services.some(({ state }) => state === 'exited'));
    // It is looked again when something happens.
    docker('rm', '-f', robot.id('more'));
    await robot.until((status) => status.services.length === 1);
    const half = await robot.until(({ state, services }) => state === 'up' && services.length === 2);
    expect(half.services.map(({ state }) => state)).toEqual(['running', 'exited']);
    await robot.restart();
    const up = await robot.until(({ state }) => state === 'up');
    expect(up.services.map(({ state }) => state)).toEqual(['running', 'running']);
  });

  it('stays as it is where the agent has lost its state', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs() }));
    const before = robot.id('web');
    await robot.stop();
    writeFileSync(join(robot.dataDir, 'compose', 'state.json'), '{"task":');
    await robot.restart();
    await robot.until(({ state }) => state === 'up');
    expect(robot.id('web')).toBe(before);
  });

  it('is tried again where it could not come back', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs(), more: runs({ container_name: `${robot.project}-x` }) }));
    await robot.stop();
    docker('rm', '-f', `${robot.project}-x`);
    const thief = docker('create', '--name', `${robot.project}-x`, BOX, 'true');
    onTestFinished(() => void spawnSync('docker', ['rm', '-f', thief]));
    await robot.restart();
    const failed = await robot.until(({ error_code }) => error_code === 'start_failed');
    expect(failed.error_message).toContain(`${robot.project}-x`);
    docker('rm', '-f', thief);
    const up = await robot.until(({ state }) => state === 'up');
    expect(up.services.map(({ state }) => state)).toEqual(['running', 'running']);
  });
});

describeDocker('an agent that is killed', () => {
  it.each(['starting', 'watching'] as const)('while %s leaves what the next one brings to its end', async (phase) => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs(), goes: runs() }));
    await robot.stop();
    const compose = {
      ...{ id: 'app', version: 2, name: 'app', assignment: randomUUID() },
      content: { services: { web: runs({ environment: { NEW: '1' } }), comes: runs({ scale: 2 }) } },
    };
    await killedAt(phase, robot, compose);
    robot.goOn({ compose });
    const up = await robot.settled(compose.assignment);
    expect(up).toMatchObject({ state: 'up', running: { version: 2 } });
    expect(robot.containers()).toEqual(['comes-1', 'comes-2', 'web-1'].map((name) => `${robot.project}-${name}`));
    expect(robot.inspect('web', '{{.Config.Env}}')).toContain('NEW=1');
  });

  it('while it brings the last good version back leaves that to the next one, and the version failed', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs({ environment: { GOOD: '1' } }) }));
    await robot.stop();
    const bad = { services: { web: runs({ command: ['false'] }), more: runs() } };
    const compose = { id: 'app', version: 2, name: 'app', content: bad, assignment: randomUUID() };
    await killedAt('rolling_back', robot, compose);
    robot.goOn({ compose });
    const failed = await robot.settled(compose.assignment);
    expect(failed).toMatchObject({ state: 'error', error_code: 'start_failed', running: { version: 1 } });
    expect(failed.failed).toMatchObject({ version: 2 });
    expect(robot.containers()).toEqual([`${robot.project}-web-1`]);
    expect(robot.inspect('web', '{{.Config.Env}}')).toContain('GOOD=1');
  });
});

describeDocker('the last good version', () => {
  it('comes back with the image it ran with, though its name has come to mean another', async () => {
    const robot = new TestCompose();
    const image = `${robot.project}/app:latest`;
    docker('tag', BOX, image);
    onTestFinished(() => void docker('rmi', '-f', image));
    await robot.settled(robot.assign({ web: runs({ image }) }));
    const good = robot.inspect('web', '{{.Image}}');
    // As a pull of a newer one does.
    const maker = docker('create', BOX, 'true');
    docker('commit', '--change', 'LABEL newer=1', maker, image);
    docker('rm', maker);
    const failed = await robot.settled(robot.assign({ web: runs({ image, command: ['false'] }) }, { version: 2 }));
    expect(failed).toMatchObject({ error_code: 'start_failed', running: { version: 1 } });
    expect(robot.inspect('web', '{{.Image}}')).toBe(good);
    expect(docker('image', 'inspect', '-f', '{{.Id}}', image)).toBe(good);
  });
});

describeDocker("the update lock in a program's hand", () => {
  it('holds a change of containers off until it is let go, but not the look at what is asked', async () => {
    const robot = new TestCompose();
    const mission = await holdLock(robot);
    const refused = await robot.settled(robot.assign({ web: runs({ image: NO_SUCH_IMAGE }) }));
    expect(refused).toMatchObject({ error_code: 'image_pull_failed' });
    robot.assign({ web: runs() }, { version: 2 });
    const held = await robot.until(({ phase }) => phase === 'held');
    expect(held).toMatchObject({ state: 'pending_up', services: [] });
    expect(held.held_by).toContain('flock');
    mission.kill('SIGKILL');
    const up = await robot.until(({ state }) => state === 'up');
    expect(up.held_by).toBeNull();
  });

  it('does not hold off an assignment that overrides it', async () => {
    const robot = new TestCompose();
    const mission = await holdLock(robot);
    robot.assign({ web: runs() });
    await robot.until(({ phase }) => phase === 'held');
    await robot.settled(robot.assign({ web: runs() }, { override: true }));
    expect(robot.status).toMatchObject({ state: 'up' });
    expect(mission.exitCode).toBeNull();
  });

  it('holds a removal off, and not one that overrides it', async () => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs() }));
    const mission = await holdLock(robot);
    robot.remove();
    const held = await robot.until(({ phase }) => phase === 'held');
    expect(held.services).toMatchObject([{ state: 'running' }]);
    await robot.settled(robot.remove({ override: true }));
    expect(robot.status).toMatchObject({ state: 'down', services: [] });
    expect(mission.exitCode).toBeNull();
  });
});

describeDocker("another's container that comes into the project while the lock is waited for", () => {
  it.each(['an assignment', 'a removal'])('is left alone by %s, which fails and names it', async (what) => {
    const robot = new TestCompose();
    await robot.settled(robot.assign({ web: runs() }));
    const mission = await holdLock(robot);
    const assignment = what === 'a removal' ? robot.remove() : robot.assign({ web: runs(), b: runs() }, { version: 2 });
    await robot.until(({ phase }) => phase === 'held');
    const labels = {
      project: robot.project,
      service: 'other',
      oneoff: 'False',
      'container-number': '1',
      'config-hash': 'x',
    };
    const labelled = Object.entries(labels).flatMap(([name, value]) => [
      '--label',
      `com.docker.compose.${name}=${value}`,
    ]);
    const foreign = docker('run', '-d', '--name', `${robot.project}-foreign`, ...labelled, BOX, 'sleep', '1000000');
    onTestFinished(() => void spawnSync('docker', ['rm', '-f', foreign]));
    mission.kill('SIGKILL');
    const failed = await robot.settled(assignment);
    expect(docker('inspect', '-f', '{{.State.Status}}', foreign)).toBe('running');
    expect(failed).toMatchObject({ state: 'error', error_code: what === 'a removal' ? 'stop_failed' : 'start_failed' });
    expect(failed.error_message).toContain(`${robot.project}-foreign`);
  });
});

async function holdLock(robot: TestCompose): Promise<ChildProcess> {
  const program = spawn('flock', [robot.lockFile, 'cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void program.stdin.end());
  program.stdin.write('\n');
  await once(program.stdout, 'data');
  return program;
}

/** Runs a deployer as a program of its own on the robot's files, and kills it (not what it has started) in that phase. */
async function killedAt(phase: ComposePhase, robot: TestCompose, compose: object): Promise<void> {
  const script = fileURLToPath(new URL('../../dist/compose/deploying.fixture.js', import.meta.url));
  const args = [script, robot.dataDir, robot.project, '20', JSON.stringify({ compose })];
  const program = spawn('node', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface(program.stdout)) {
    if (JSON.parse(line).phase === phase) program.kill('SIGKILL');
  }
  if (program.signalCode === null && program.exitCode === null) await once(program, 'exit');
  expect(program.signalCode).toBe('SIGKILL');
}
