import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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
