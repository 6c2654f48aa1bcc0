import { describe, expect, it } from 'vitest';
import { commonDefinitions, commonTypes } from './common.js';
import { DefinitionError, loadInterface, parseSchema, UndefinedTypeError } from './definitions.js';

const source = (texts: Record<string, string>) => ({ read: async (type: string) => texts[type] });
const LINE = '='.repeat(80);

describe('loadInterface', () => {
  it('puts the dependencies behind the message, each once, as MCAP has them', async () => {
    const definition = await loadInterface(
      'a_msgs/msg/Top',
      source({
        'a_msgs/msg/Top': '# a top\nPoint p  # of this package\nb_msgs/msg/Point q\r\nPoint[] more\n',
        'a_msgs/msg/Point': 'float64 x\n',
        'b_msgs/msg/Point': 'Inner i',
        'b_msgs/msg/Inner': 'int8 v 5',
      }),
    );
    if (definition.kind !== 'msg') throw new TypeError('no message');
    expect(definition.message.text).toBe(
      [
        '# a top\nPoint p  # of this package\nb_msgs/msg/Point q\nPoint[] more',
        `${LINE}\nMSG: a_msgs/Point\nfloat64 x`,
        `${LINE}\nMSG: b_msgs/Point\nInner i`,
        `${LINE}\nMSG: b_msgs/Inner\nint8 v 5\n`,
      ].join('\n'),
    );
    expect(definition.message.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(definition.message.definitions.map((part) => part.name)).toEqual([
      'a_msgs/Top',
      'a_msgs/Point',
      'b_msgs/Point',
      'b_msgs/Inner',
    ]);
    expect(parseSchema('a_msgs/msg/Top', definition.message.text)).toEqual(definition.message);
  });

  it('splits services and actions', async () => {
    const service = await loadInterface('std_srvs/srv/SetBool', commonDefinitions);
    expect(service).toMatchObject({
      kind: 'srv',
      request: { type: 'std_srvs/srv/SetBool_Request', text: 'bool data\n' },
      response: { type: 'std_srvs/srv/SetBool_Response' },
    });
    const action = await loadInterface('test_msgs/action/NestedMessage', commonDefinitions);
    expect(action).toMatchObject({
      kind: 'action',
      goal: { type: 'test_msgs/action/NestedMessage_Goal' },
      result: { type: 'test_msgs/action/NestedMessage_Result' },
      feedback: { type: 'test_msgs/action/NestedMessage_Feedback' },
    });
  });

  it('names a type that is missing and the one that contains it', async () => {
    await expect(loadInterface('a_msgs/msg/Top', source({}))).rejects.toMatchObject({
      type: 'a_msgs/msg/Top',
      referredBy: null,
    });
    const missing = loadInterface('a_msgs/msg/Top', source({ 'a_msgs/msg/Top': 'Point p' }));
    await expect(missing).rejects.toThrow('no definition of a_msgs/msg/Point, which a_msgs/msg/Top contains');
    await expect(missing).rejects.toBeInstanceOf(UndefinedTypeError);
  });

  it('loads every common type there is', async () => {
    const types = commonTypes();
    for (const type of types) expect((await loadInterface(type, commonDefinitions)).type).toBe(type);
    expect(types).toContain('rcl_interfaces/msg/Log');
    expect(types.length).toBeGreaterThan(160);
  });

  it('writes times as ROS 2 has them', async () => {
    const definition = await loadInterface('std_msgs/msg/Header', commonDefinitions);
    expect(definition).toMatchObject({ message: { text: expect.stringContaining('builtin_interfaces/Time stamp') } });
    expect(definition).toMatchObject({ message: { text: expect.stringContaining('MSG: builtin_interfaces/Time') } });
  });
});

describe('a definition that can not be used', () => {
  it.each([
    ['a line that is no field', 'float64'],
    ['an invalid field name', 'float64 Value'],
    ['a field name that makes the parser slow', `float64 ${'a'.repeat(60)}A`],
    ['a constant name that makes the parser slow', `float64 ${'A'.repeat(60)}a=5`],
    ['a default that does not fit', 'int32[2] v [1, 2, 3]'],
    ['a default out of range', 'uint8 v 256'],
    ['a missing dependency', 'Other v'],
    ['a type that contains itself', `Self v\n${LINE}\nMSG: a_msgs/Self\nSelf[] v`],
    ['two fields of one name', 'int32 v\nint32 v'],
    ['two messages of one name', `A v\n${LINE}\nMSG: a_msgs/A\nint32 v\n${LINE}\nMSG: a_msgs/A\nint8 v`],
    ['a message of gigabytes', 'uint8[4000000000] v'],
    ['lists within lists that would be gigabytes', bomb()],
    ['a very long line', `string v "${'x'.repeat(5000)}"`],
    ['a very long text', `# ${'x'.repeat(2 ** 20)}`],
    ['nesting without end', nesting(200)],
  ])('%s is a DefinitionError', (_name, text) => {
    expect(() => parseSchema('a_msgs/msg/Top', text)).toThrow(DefinitionError);
  });

  it('takes what real definitions hold', () => {
    const schema = parseSchema(
      'a_msgs/msg/Top',
      `int32[] none []\nstring s "a # b" # c\nstring<=5[<=2] t ["x", 'y']\nuint8 A=1 # one\nint32 v   -5\nfloat32 f .5`,
    );
    expect(schema.definitions[0]?.definitions.map((field) => field.defaultValue ?? field.value)).toEqual([
      undefined,
      'a # b',
      ['x', 'y'],
      1,
      -5,
      0.5,
    ]);
  });
});

/** Ten levels of ten of the next. */
function bomb(): string {
  const level = (depth: number) => `L${depth}[10] v`;
  const sections = Array.from({ length: 10 }, (_, index) =>
    [LINE, `MSG: a_msgs/L${index}`, index === 9 ? 'uint8 v' : level(index + 1)].join('\n'),
  );
  return [level(0), ...sections].join('\n');
}

function nesting(depth: number): string {
  const sections = Array.from({ length: depth }, (_, index) => `${LINE}\nMSG: a_msgs/L${index}\nL${index + 1} v`);
  return ['L0 v', ...sections, LINE, `MSG: a_msgs/L${depth}`, 'uint8 v'].join('\n');
}
