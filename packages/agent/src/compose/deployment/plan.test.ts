import { describe, expect, it } from 'vitest';
import { type Container, runOf } from '../docker/container.js';
import { container, service } from './plan.fixture.js';
import { type Current, type Desired, ImageMissingError, plan, planFailure } from './plan.js';

type Up = Desired & { kind: 'up' };

function up(overrides: Partial<Up> = {}): Up {
  return { kind: 'up', services: [service()], purpose: 'deploy', pins: {}, locked: true, ...overrides };
}

function current(
  containers: readonly Container[] = [],
  images: Record<string, string> = { 'web:1': 'sha256:a' },
  ended: readonly Container[] = [],
): Current {
  return { containers, images: new Map(Object.entries(images)), ended: new Set(ended.map(runOf)), stopped: new Set() };
}

const kinds = (steps: readonly { do: string }[]) => steps.map((step) => step.do);

describe('a plan to bring a version up', () => {
  it('takes the lock, brings up and watches where its images are here', () => {
    expect(plan(current(), up())).toEqual([{ do: 'lock' }, { do: 'up', services: [] }, { do: 'watch' }]);
  });

  it('pulls first what is missing, each image once, before the lock is taken', () => {
    const services = [service({ name: 'a', image: 'x:1' }), service({ name: 'b', image: 'x:1' }), service()];
    const steps = plan(current(), up({ services }));
    expect(kinds(steps)).toEqual(['pull', 'lock', 'up', 'watch']);
    expect(steps[0]).toEqual({ do: 'pull', image: 'x:1', platform: null, must: false });
  });

  it('pulls what its pull_policy asks for, here or not', () => {
    for (const pullPolicy of ['always', 'daily', 'every_12h']) {
      expect(plan(current(), up({ services: [service({ pullPolicy })] }))[0]).toMatchObject({ do: 'pull', must: true });
    }
    for (const pullPolicy of ['missing', 'if_not_present', 'never', null]) {
      expect(kinds(plan(current(), up({ services: [service({ pullPolicy })] })))).not.toContain('pull');
    }
  });

  it('is none where an image is missing that is never to be pulled', () => {
    const services = [service({ pullPolicy: 'never' })];
    expect(() => plan(current([], {}), up({ services }))).toThrow(ImageMissingError);
  });

  it('pulls nothing for a service of no containers', () => {
    expect(kinds(plan(current([], {}), up({ services: [service({ scale: 0 })] })))).not.toContain('pull');
  });

  it('does not ask for the lock where that is overridden', () => {
    expect(kinds(plan(current(), up({ locked: false })))).toEqual(['up', 'watch']);
  });

  it('removes the half-made successor that a killed compose has left beside its container', () => {
    const old = container({ id: 'old', name: 'p-web-1' });
    const fresh = container({ id: 'new', name: '0123456789ab_p-web-1', replaces: 'p-web-1', state: 'created' });
    const steps = plan(current([old, fresh]), up());
    expect(kinds(steps)).toEqual(['lock', 'remove', 'up', 'watch']);
    expect(steps).toContainEqual({ do: 'remove', id: 'new', name: '0123456789ab_p-web-1' });
  });

  it('gives a successor its name where a killed compose has removed its container already, and leaves others alone', () => {
    const fresh = container({ id: 'new', name: '0123456789ab_p-web-1', replaces: 'p-web-1' });
    expect(plan(current([fresh]), up())).toContainEqual({ do: 'rename', id: 'new', name: 'p-web-1' });
    expect(kinds(plan(current([container({ replaces: 'p-web-1' })]), up()))).toEqual(['lock', 'up', 'watch']);
  });
});

describe('a plan to bring the last good version back', () => {
  const pins = { 'web:1': 'sha256:good' };

  it('gives an image the name again that a newer one has taken', () => {
    const images = { 'web:1': 'sha256:bad', 'sha256:good': 'sha256:good' };
    const steps = plan(current([], images), up({ purpose: 'bring_back', pins }));
    expect(steps).toContainEqual({ do: 'tag', image: 'web:1', id: 'sha256:good' });
    expect(kinds(steps)).toEqual(['lock', 'tag', 'up', 'watch']);
  });

  it('pulls only what is gone, whatever the pull_policy', () => {
    const services = [service({ pullPolicy: 'always' })];
    const images = { 'web:1': 'sha256:good', 'sha256:good': 'sha256:good' };
    expect(kinds(plan(current([], images), up({ services, purpose: 'bring_back', pins })))).not.toContain('pull');
    expect(kinds(plan(current([], {}), up({ services, purpose: 'bring_back', pins })))).toContain('pull');
  });
});

describe('a plan to keep what is up', () => {
  const keep = (services = [service()]) => up({ purpose: 'keep', services, locked: false });

  it('does nothing where every service is as it was left', () => {
    const ended = container({ service: 'job', state: 'exited', exitCode: 0 });
    const services = [service(), service({ name: 'job' })];
    expect(plan(current([container(), ended], {}, [ended]), keep(services))).toEqual([]);
    expect(plan(current([container({ state: 'restarting' })]), keep())).toEqual([]);
  });

  it('brings up only what is missing or has stopped and should run', () => {
    const services = [service(), service({ name: 'more' })];
    expect(plan(current([container()]), keep(services))[0]).toEqual({ do: 'up', services: ['more'] });
    const policy = { name: 'always', retriesMax: 0 };
    const states: Partial<Container>[] = [
      { state: 'created' },
      { state: 'exited', exitCode: 1 },
      // As an engine that ends leaves what it stops.
      { state: 'exited', exitCode: 0 },
      { state: 'exited', exitCode: 0, restartPolicy: policy },
    ];
    for (const state of states) {
      expect(plan(current([container(state)]), keep())[0]).toEqual({ do: 'up', services: ['web'] });
    }
  });

  it('brings up what has ended with 0 in an earlier run, and was started again since', () => {
    const ended = container({ state: 'exited', exitCode: 0 });
    const again = { ...ended, startedMs: 2_000 };
    expect(plan(current([again], { 'web:1': 'sha256:a' }, [ended]), keep())[0]).toEqual({
      do: 'up',
      services: ['web'],
    });
  });

  it('leaves what somebody has stopped by hand', () => {
    const stopped = container({ state: 'exited', exitCode: 137 });
    expect(plan({ ...current([stopped]), stopped: new Set([stopped.id]) }, keep())).toEqual([]);
  });

  it('removes what Docker could not before', () => {
    const dead = container({ state: 'dead' });
    expect(kinds(plan(current([dead]), keep()))).toEqual(['remove', 'up', 'watch']);
  });

  it('counts the containers of a service', () => {
    expect(plan(current([container()]), keep([service({ scale: 2 })]))[0]).toEqual({ do: 'up', services: ['web'] });
  });
});

describe('a plan to take down', () => {
  const down = { kind: 'down', volumes: true, locked: true, isTouched: true } as const;

  it('takes the lock first, and volumes only where asked', () => {
    expect(plan(current([container()]), down)).toEqual([{ do: 'lock' }, { do: 'down', volumes: true }]);
  });

  it('is empty where nothing was ever begun', () => {
    expect(plan(current(), { ...down, isTouched: false })).toEqual([]);
  });

  it('is carried out where a start was begun, though no container is there: networks and volumes may be', () => {
    expect(kinds(plan(current(), down))).toContain('down');
  });
});

describe('what is done about a version that failed', () => {
  it('is nothing before containers were touched, else what was there before comes back', () => {
    expect(planFailure({ is_mixed: false, good: {} })).toBe('leave');
    expect(planFailure({ is_mixed: true, good: {} })).toBe('bring_back');
    expect(planFailure({ is_mixed: true, good: null })).toBe('take_down');
  });
});
