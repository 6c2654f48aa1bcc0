import type { CommandInterface } from '@drover/shared/link/command';
import { describe, expect, it } from 'vitest';
import { checkPattern, namePattern } from './name-pattern.js';
import { NotAllowedError, Policy } from './policy.js';
import { readPolicy } from './policy-file.js';

/** Why a policy refuses something; null where it allows it. */
function refusal(policy: unknown, target: CommandInterface, name: string): string | null {
  const { rules, problems } = readPolicy(policy);
  expect(problems).toEqual([]);
  try {
    new Policy(rules).check({ interface: target, name });
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(NotAllowedError);
    return (error as Error).message;
  }
}

describe('a pattern', () => {
  it.each([
    ['/cmd_vel', '/cmd_vel', true],
    ['/cmd_vel', '/cmd_vel2', false],
    ['/cmd_vel', '/ns/cmd_vel', false],
    ['/cmd_*', '/cmd_vel', true],
    ['/cmd_*', '/cmd_', true],
    ['/cmd_*', '/cmd_vel/x', false],
    ['/*_vel', '/cmd_vel', true],
    ['/*a*b*', '/xaxxbx', true],
    ['/*a*b*', '/xbxxax', false],
    ['/*/cmd_vel', '/robot/cmd_vel', true],
    ['/*/cmd_vel', '/cmd_vel', false],
    ['/*/cmd_vel', '/a/b/cmd_vel', false],
    ['/**/cmd_vel', '/cmd_vel', true],
    ['/**/cmd_vel', '/a/b/cmd_vel', true],
    ['/**/cmd_vel', '/a/cmd_vel/b', false],
    ['/arm/**', '/arm', true],
    ['/arm/**', '/arm/left/grip', true],
    ['/arm/**', '/army', false],
    ['/**/a/**/b', '/a/x/a/y/b', true],
    ['/**/a/**/b', '/a/x/y', false],
    ['/**', '/anything/at/all', true],
    ['/Cmd', '/cmd', false],
  ])('%s for %s: %s', (pattern, name, matches) => {
    expect(checkPattern(pattern)).toBeNull();
    expect(namePattern(pattern).matches(name)).toBe(matches);
  });

  it.each(['', 'cmd_vel', '/', '/a/', '//a', '/a**', '/**a', '/a/***', '~/x', '/a b', '/a?', `/${'a'.repeat(300)}`])(
    '%j is none',
    (pattern) => {
      expect(checkPattern(pattern)).not.toBeNull();
    },
  );

  it('takes no long time, whatever it is', () => {
    const pattern = namePattern(`/${'*a'.repeat(100)}*b`);
    expect(pattern.matches(`/${'a'.repeat(240)}`)).toBe(false);
    expect(namePattern('/**/a'.repeat(50)).matches('/a'.repeat(49))).toBe(false);
  });
});

describe('a policy', () => {
  it('without rules allows everything', () => {
    expect(refusal({}, 'topic', '/cmd_vel')).toBeNull();
    expect(new Policy(readPolicy({}).rules).summary()).toBe(
      'topics all allowed; services all allowed; actions all allowed',
    );
  });

  it('with an allow list for a kind allows only what is on it, and other kinds as before', () => {
    const policy = { topics: { allow: ['/cmd_vel', '/lights/**'] } };
    expect(refusal(policy, 'topic', '/cmd_vel')).toBeNull();
    expect(refusal(policy, 'topic', '/lights/front')).toBeNull();
    expect(refusal(policy, 'topic', '/arm')).toBe(
      "the robot's policy does not allow the topic /arm: no rule of policy.topics.allow",
    );
    expect(refusal(policy, 'service', '/arm')).toBeNull();
  });

  it('with an empty allow list allows nothing of the kind', () => {
    expect(refusal({ services: { allow: [] } }, 'service', '/x')).toContain('no rule of policy.services.allow');
    expect(refusal({ services: { allow: [] } }, 'topic', '/x')).toBeNull();
  });

  it('denies what a deny rule matches, whatever is allowed, and names the rule', () => {
    const policy = {
      actions: { allow: ['/**'], deny: [{ match: '/dock*', rule: 'no docking from afar' }, '/arm/**'] },
    };
    expect(refusal(policy, 'action_send_goal', '/navigate')).toBeNull();
    expect(refusal(policy, 'action_send_goal', '/dock_now')).toBe(
      "the robot's policy denies the action /dock_now: rule no docking from afar (/dock*)",
    );
    expect(refusal(policy, 'action_send_goal', '/arm/left')).toContain('rule policy.actions.deny[1] (/arm/**)');
  });

  it('about an action holds for the services and topics that it is made of', () => {
    const policy = { actions: { deny: ['/dock'] } };
    expect(refusal(policy, 'service', '/dock/_action/cancel_goal')).toContain('denies the action /dock');
    expect(refusal(policy, 'topic', '/dock/_action/status')).toContain('denies the action /dock');
    expect(refusal(policy, 'service', '/drive/_action/cancel_goal')).toBeNull();
  });

  it('about an action holds for what it is made of, whatever its name is', () => {
    const policy = { actions: { deny: ['/a/_action/b'] } };
    expect(refusal(policy, 'service', '/a/_action/b/_action/send_goal')).toContain('denies the action /a/_action/b');
    expect(refusal(policy, 'service', '/a/_action/send_goal')).toBeNull();
  });
});

describe('a policy in a file that is wrong', () => {
  it.each([
    [null, 'policy'],
    ['all', 'policy'],
    [['/x'], 'policy'],
    [{ topic: { allow: [] } }, 'policy.topic'],
    [{ topics: null }, 'policy.topics'],
    [{ topics: { alow: [] } }, 'policy.topics.alow'],
    [{ topics: { allow: null } }, 'policy.topics.allow'],
    [{ topics: { allow: '/x' } }, 'policy.topics.allow'],
    [{ topics: { deny: ['/ok', 'x'] } }, 'policy.topics.deny[1]'],
    [{ topics: { deny: [{ match: '/a/' }] } }, 'policy.topics.deny[0].match'],
    [{ topics: { deny: [{ rule: 'x' }] } }, 'policy.topics.deny[0].match'],
    [{ topics: { deny: [{ match: '/a', rule: 5 }] } }, 'policy.topics.deny[0].rule'],
    [{ topics: { deny: [{ match: '/a', bound: 5 }] } }, 'policy.topics.deny[0].bound'],
    [{ topics: { deny: [5] } }, 'policy.topics.deny[0]'],
  ])('%j is a problem at %s', (policy, path) => {
    expect(readPolicy(policy).problems.map((problem) => problem.path)).toContain(path);
  });

  it('gets a hint at the key that was meant', () => {
    expect(readPolicy({ topic: {} }).problems).toEqual([
      { path: 'policy.topic', message: 'not known; did you mean topics?' },
    ]);
  });
});
