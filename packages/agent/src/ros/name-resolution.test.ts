import { describe, expect, it } from 'vitest';
import { isAgentNode } from './agent-nodes.js';
import { NAMING_CASES } from './name-resolution.fixture.js';
import { checkNamespace, NameResolver, type RemapRule, readRemapRule } from './name-resolution.js';

describe('names', () => {
  it.each(NAMING_CASES)('in $namespace with $remaps are what ros2 makes of them', ({ namespace, remaps, names }) => {
    const resolver = new NameResolver(namespace, remaps.map(readRemapRule) as RemapRule[]);
    const resolved = Object.fromEntries(Object.keys(names).map((name) => [name, resolver.resolve(name)]));
    expect(resolved).toEqual(names);
  });

  it('of the agent itself are in its namespace', () => {
    expect(new NameResolver().node).toBe('/drover_agent');
    expect(new NameResolver('/r1', [{ from: '~', to: '/elsewhere' }]).node).toBe('/r1/drover_agent');
    expect(['/drover_agent', '/r1/drover_agent', '/r1/_drover_agent_reader_7'].filter(isAgentNode)).toHaveLength(3);
    expect(['/drover_agent/arm', '/r1/base', ''].filter(isAgentNode)).toEqual([]);
  });
});

describe('a remap', () => {
  it('is two names', () => {
    expect(readRemapRule('cmd_vel:=~/base/cmd_vel')).toEqual({ from: 'cmd_vel', to: '~/base/cmd_vel' });
  });

  it.each([
    ['cmd_vel', 'FROM:=TO'],
    ['cmd_vel:=', 'FROM:=TO'],
    [':=/a', 'FROM:=TO'],
    ['a:=b:=c', 'FROM:=TO'],
    ['a=b', 'FROM:=TO'],
    ['__ns:=/r1', 'DROVER_ROS_NAMESPACE'],
    ['__node:=other', 'always drover_agent'],
    ['rostopic://a:=b', 'for all kinds'],
    ['node:a:=b', 'for all kinds'],
    ['a b:=c', '" "'],
    ['/a/:=/b', 'end with /'],
    ['/a:=/2b', '"2b"'],
    ['/**:=/b', '"*"'],
  ])('%j is none, in words that name it', (text, words) => {
    const wrong = readRemapRule(text);
    expect(wrong).toContain(words);
    expect(wrong).toContain(JSON.stringify(text));
  });
});

it.each([
  ['/', null],
  ['/fleet/r1', null],
  ['fleet', 'begins with /'],
  ['', 'begins with /'],
  ['/fleet/', 'a namespace must not end with /'],
  ['/fleet/1', '"1"'],
  [`/${'a'.repeat(200)}`, 'at most 200'],
])('the namespace %j: %j', (namespace, words) => {
  if (words === null) expect(checkNamespace(namespace)).toBeNull();
  else expect(checkNamespace(namespace)).toContain(words);
});
