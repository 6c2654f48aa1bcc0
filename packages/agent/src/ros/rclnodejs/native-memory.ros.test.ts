import { arbitraryMessage } from '@drover/shared/ros/arbitrary.fixture';
import { decodeCdr, encodeCdr } from '@drover/shared/ros/cdr';
import type { MessageSchema } from '@drover/shared/ros/definitions';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { Definitions } from '../definitions.js';
import { describeRos } from '../testing/ros.js';
import { amentDefinitions } from './definitions.js';
import { loadRclnodejs } from './load.js';
import { NativeMemory } from './native-memory.js';

/**
 * By which the values of services and actions cross into ROS. No service of ROS's own has wide strings: that these would
 * carry them is shown on a message.
 */
describeRos('C structs written and read as CDR', () => {
  let rcl: ReturnType<typeof loadRclnodejs>;
  const definitions = new Definitions(amentDefinitions(process.env));
  beforeAll(() => {
    rcl = loadRclnodejs(process.env);
  });
  const schemaOf = async (type: string): Promise<MessageSchema> => (await definitions.getOf('msg', type)).message;

  it.each([
    'test_msgs/msg/WStrings',
    'test_msgs/msg/Strings',
    'test_msgs/msg/UnboundedSequences',
    'test_msgs/msg/BoundedSequences',
    'test_msgs/msg/MultiNested',
    'test_msgs/msg/Builtins',
  ])('hold every %s', async (type) => {
    const schema = await schemaOf(type);
    const memory = new NativeMemory(rcl, type);
    fc.assert(
      fc.property(arbitraryMessage(schema), (value) => {
        const struct = memory.allocate();
        memory.write(struct, encodeCdr(schema, value));
        const read = memory.read(struct);
        memory.free(struct);
        expect(decodeCdr(schema, read)).toEqual(value);
      }),
      { numRuns: 50 },
    );
  });

  it('give back the memory of wide strings', async () => {
    const type = 'test_msgs/msg/WStrings';
    const schema = await schemaOf(type);
    const memory = new NativeMemory(rcl, type);
    const long = 'wörter'.repeat(10_000);
    const lists = { bounded_sequence_of_wstrings: [long], unbounded_sequence_of_wstrings: [long, long] };
    const plain = { wstring_value: long, wstring_value_default1: '', wstring_value_default2: '' };
    const cdr = encodeCdr(schema, {
      ...plain,
      ...lists,
      wstring_value_default3: '',
      array_of_wstrings: ['', '', ''],
    });
    const once = () => {
      const struct = memory.allocate();
      memory.write(struct, cdr);
      memory.free(struct);
    };
    for (let index = 0; index < 50; index += 1) once();
    const before = process.memoryUsage().rss;
    for (let index = 0; index < 500; index += 1) once();
    // Each has 480 KB of text: what stays would add up to 240 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
  });
});
