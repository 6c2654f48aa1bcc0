import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { InterfaceDefinition, MessageSchema } from '@drover/shared/ros/definitions';
import { layoutOf } from '@drover/shared/ros/layout';
import { describe, expect, it } from 'vitest';
import { Definitions } from '../definitions.js';
import { describeRos } from '../testing/ros.js';
import { amentDefinitions } from './definitions.js';
import { textOfIdl } from './idl.js';

const KINDS = ['msg', 'srv', 'action'];

/** Every type of the sourced ROS that has its definition in both languages. */
function typesInBoth(): { type: string; idl: string }[] {
  const found = new Map<string, string>();
  const prefixes = (process.env.AMENT_PREFIX_PATH ?? '').split(delimiter).filter((prefix) => prefix !== '');
  for (const prefix of prefixes) {
    const share = join(prefix, 'share');
    for (const pkg of readdirSync(share)) {
      for (const kind of KINDS) {
        for (const file of filesOf(join(share, pkg, kind), '.idl')) {
          const type = `${pkg}/${kind}/${file.slice(0, -'.idl'.length)}`;
          found.set(type, join(share, pkg, kind, file));
        }
      }
    }
  }
  return [...found].map(([type, idl]) => ({ type, idl }));
}

function filesOf(folder: string, ending: string): string[] {
  try {
    return readdirSync(folder).filter((file) => file.endsWith(ending));
  } catch {
    return [];
  }
}

function schemasOf(definition: InterfaceDefinition): MessageSchema[] {
  switch (definition.kind) {
    case 'msg':
      return [definition.message];
    case 'srv':
      return [definition.request, definition.response];
    case 'action':
      return [definition.goal, definition.result, definition.feedback];
  }
}

describeRos('interfaces by .idl', () => {
  const byMsg = new Definitions(amentDefinitions(process.env));
  const files = new Map(typesInBoth().map(({ type, idl }) => [type, idl]));
  const byIdl = new Definitions({
    read: async (type) => {
      const file = files.get(type);
      return file === undefined ? undefined : textOfIdl(type, readFileSync(file, 'utf8'));
    },
  });

  it('are as many as ROS has', () => expect(files.size).toBeGreaterThan(150));

  describe.each([...files.keys()])('%s', (type) => {
    it('has the fields, the defaults and the constants of its .msg, .srv or .action', async () => {
      const [asIdl, asMsg] = [schemasOf(await byIdl.get(type)), schemasOf(await byMsg.get(type))];
      expect(asIdl.map(layoutOf)).toEqual(asMsg.map(layoutOf));
      expect(asIdl.map(constantsOf)).toEqual(asMsg.map(constantsOf));
    });
  });
});

function constantsOf({ definitions }: MessageSchema): unknown[] {
  const constants = definitions[0]?.definitions.filter((field) => field.isConstant === true) ?? [];
  return constants.map(({ type, name, value }) => ({ type, name, value }));
}
