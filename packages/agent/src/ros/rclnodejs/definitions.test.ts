import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import { parseSchema } from '@drover/shared/ros/definitions';
import { fromJson } from '@drover/shared/ros/from-json';
import { toJson } from '@drover/shared/ros/to-json';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Definitions } from '../definitions.js';
import { UnknownTypeError } from '../graph.js';
import { amentDefinitions } from './definitions.js';

describe('definitions of a sourced ROS', () => {
  let prefix: string;
  let overlay: string;
  beforeEach(() => {
    prefix = mkdtempSync(join(tmpdir(), 'drover-ament-'));
    overlay = mkdtempSync(join(tmpdir(), 'drover-ament-'));
  });
  afterEach(() => {
    rmSync(prefix, { recursive: true });
    rmSync(overlay, { recursive: true });
  });

  const write = (root: string, path: string, text: string) => {
    const file = join(root, 'share', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  const definitions = () => new Definitions(amentDefinitions({ AMENT_PREFIX_PATH: `${overlay}:${prefix}` }));

  it('are those of the first prefix that has the type', async () => {
    write(prefix, 'a_msgs/msg/Thing.msg', 'int32 base\nOther other\n');
    write(prefix, 'a_msgs/msg/Other.msg', 'string text\n');
    write(overlay, 'a_msgs/msg/Other.msg', 'string overlaid\n');
    const definition = await definitions().getOf('msg', 'a_msgs/msg/Thing');
    expect(definition.message.text).toContain('int32 base');
    expect(definition.message.text).toContain('string overlaid');
  });

  it('are read of .msg, .srv, .action and .idl files alike, whichever names the other', async () => {
    const idl = (kind: string, body: string) => `module b_msgs { module ${kind} { ${body} }; };`;
    write(
      prefix,
      'b_msgs/msg/Inner.idl',
      idl('msg', 'struct Inner { sequence<double, 3> values; a_msgs::msg::Plain plain; };'),
    );
    write(prefix, 'a_msgs/msg/Plain.msg', 'wstring text "ä"\n');
    write(prefix, 'a_msgs/msg/Outer.msg', 'b_msgs/Inner inner\n');
    write(
      prefix,
      'b_msgs/srv/Do.idl',
      idl('srv', 'struct Do_Request { b_msgs::msg::Inner in; }; struct Do_Response { long out; };'),
    );
    write(prefix, 'a_msgs/action/Go.action', 'b_msgs/Inner goal\n---\n---\nint8 done\n');
    const { message } = await definitions().getOf('msg', 'a_msgs/msg/Outer');
    const value = { inner: { values: [1, 2], plain: { text: 'wörter' } } };
    expect(toJson(message, decodeCdr(message, encodeCdr(message, fromJson(message, value, 'payload'))))).toEqual(value);
    expect(() => fromJson(message, { inner: { values: [1, 2, 3, 4] } }, 'payload')).toThrow('at most 3 values');
    // What travels to the cloud is enough for it to read the bytes.
    const travelled = parseSchema(message.type, message.text);
    expect(decodeCdr(travelled, encodeCdr(message, fromJson(message, {}, 'payload')))).toMatchObject({
      inner: { plain: { text: 'ä' } },
    });
    const { request, response } = await definitions().getOf('srv', 'b_msgs/srv/Do');
    expect(fromJson(request, {}, 'payload')).toMatchObject({ in: { plain: { text: 'ä' } } });
    expect(fromJson(response, { out: -1 }, 'payload')).toEqual({ out: -1 });
    const { goal } = await definitions().getOf('action', 'a_msgs/action/Go');
    expect(fromJson(goal, {}, 'payload')).toMatchObject({ goal: { plain: { text: 'ä' } } });
  });

  it('are of the .msg where a package has both', async () => {
    write(prefix, 'a_msgs/msg/Both.msg', 'int32 from_msg\n');
    write(prefix, 'a_msgs/msg/Both.idl', 'module a_msgs { module msg { struct Both { long from_idl; }; }; };');
    expect((await definitions().getOf('msg', 'a_msgs/msg/Both')).message.text).toContain('from_msg');
  });

  it('say why an .idl can not be used', async () => {
    write(prefix, 'a_msgs/msg/Odd.idl', 'module a_msgs { module msg { struct Odd { long double x; }; }; };');
    await expect(definitions().get('a_msgs/msg/Odd')).rejects.toThrow(/a_msgs\/msg\/Odd .* long double/);
  });

  it('are looked for again once unknown', async () => {
    const known = definitions();
    await expect(known.get('a_msgs/msg/Late')).rejects.toBeInstanceOf(UnknownTypeError);
    write(prefix, 'a_msgs/msg/Late.msg', 'bool here\n');
    expect(await known.get('a_msgs/msg/Late')).toMatchObject({ kind: 'msg', type: 'a_msgs/msg/Late' });
  });

  it('name the type that was asked for where a part of it is unknown', async () => {
    write(prefix, 'a_msgs/msg/Broken.msg', 'b_msgs/Missing missing\n');
    await expect(definitions().get('a_msgs/msg/Broken')).rejects.toMatchObject({
      name: 'UnknownTypeError',
      type: 'a_msgs/msg/Broken',
    });
  });

  it('are only of the kind asked for', async () => {
    write(prefix, 'a_msgs/srv/Do.srv', '---\n');
    await expect(definitions().getOf('msg', 'a_msgs/srv/Do')).rejects.toBeInstanceOf(UnknownTypeError);
  });
});
