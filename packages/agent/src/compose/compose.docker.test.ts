import { describe, expect, it } from 'vitest';
import { hasEngine, runs, TestCompose } from './compose.fixture.js';

describe.skipIf(!hasEngine)('a compose file', () => {
  it('is up when its services run, and down when it is taken away', async () => {
    const robot = new TestCompose();
    const up = await robot.settled(robot.assign({ web: runs() }));
    expect(up).toMatchObject({ state: 'up', running: { id: 'app', version: 1 }, failed: null });
    expect(up.services).toMatchObject([{ service: 'web', state: 'running', health: null, restarts: 0 }]);
    expect(up.services[0]?.since_robot_ms).toBeGreaterThan(0);
    expect(up.images).toEqual([{ image: 'drover-test/box:1', state: 'present', percent: 100, message: null }]);
    const down = await robot.settled(robot.remove());
    expect(down).toMatchObject({ state: 'down', running: null, services: [] });
    expect(robot.containers()).toEqual([]);
  });
});
