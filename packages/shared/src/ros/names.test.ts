import { describe, expect, it } from 'vitest';
import { checkRosName, isAbsoluteName, resolveName } from './names.js';
import { normalizeTypeName, splitTypeName, TypeNameError } from './types.js';

describe('names of topics, services and actions', () => {
  it.each([
    '/cmd_vel',
    '/a/b_2/C',
    'chatter',
    'a/b',
    '~',
    '~/a',
    '/_hidden',
    '/a/_action/feedback',
    `/${'a'.repeat(246)}`,
  ])('%s is valid', (name) => {
    expect(checkRosName(name)).toBeNull();
  });

  it.each([
    ['', 'empty'],
    ['/', '/ alone'],
    ['/a/', 'end with /'],
    ['/a//b', 'contain //'],
    ['/a__b', 'contain __'],
    ['/2a', '"2a"'],
    ['/a/1', '"1"'],
    ['/a b', '" "'],
    ['/ä', '"ä"'],
    ['/a-b', '"-"'],
    ['/a\n', '"\\n"'],
    ['/a/{node}', '"{"'],
    ['~a', '~/'],
    ['/a/~', 'beginning'],
    ['/😀', '"😀"'],
    [`/${'a'.repeat(247)}`, '247'],
  ])('%j is not valid', (name, words) => {
    expect(checkRosName(name)).toContain(words);
  });

  it('resolves relative and private names by the node', () => {
    expect(isAbsoluteName('/a')).toBe(true);
    expect(isAbsoluteName('~/a')).toBe(false);
    expect(resolveName('/a', '/ns', 'node')).toBe('/a');
    expect(resolveName('a', '/ns', 'node')).toBe('/ns/a');
    expect(resolveName('a', '/', 'node')).toBe('/a');
    expect(resolveName('~/a', '/ns', 'node')).toBe('/ns/node/a');
    expect(resolveName('~', '/', 'node')).toBe('/node');
  });
});

describe('names of types', () => {
  it('takes the short form and the full one', () => {
    expect(normalizeTypeName('std_msgs/String', 'msg')).toBe('std_msgs/msg/String');
    expect(normalizeTypeName('std_msgs/msg/String', 'msg')).toBe('std_msgs/msg/String');
    expect(normalizeTypeName('std_srvs/Trigger', 'srv')).toBe('std_srvs/srv/Trigger');
    expect(splitTypeName('std_srvs/srv/Trigger_Request')).toEqual({
      pkg: 'std_srvs',
      kind: 'srv',
      name: 'Trigger_Request',
    });
  });

  it.each(['', 'String', '/String', 'std_msgs/', 'std_msgs/srv/String', 'std_msgs/msg/string', 'Std/msg/String'])(
    '%j is no message type',
    (text) => {
      expect(() => normalizeTypeName(text, 'msg')).toThrow(TypeNameError);
      expect(() => normalizeTypeName(text, 'msg')).toThrow(
        new RegExp(`expected a message type pkg/msg/Name.*, got ${JSON.stringify(text)}`),
      );
    },
  );

  it.each(['a__b/msg/X', 'a_/msg/X', '../msg/X', 'a/msg/X/Y', 'a/msg/X_Y', `a/msg/${'X'.repeat(300)}`, 'a/msg/X\n'])(
    '%j is no message type either',
    (text) => {
      expect(() => normalizeTypeName(text, 'msg')).toThrow(TypeNameError);
    },
  );
});
