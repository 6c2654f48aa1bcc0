/**
 * The interfaces of ROS 2's test_msgs (part of rcl_interfaces, Apache License 2.0), comments left out: every kind of
 * field there is. Both graphs have them, so that tests and trials speak them without a ROS installation too.
 */

const SCALARS = `bool bool_value
byte byte_value
char char_value
float32 float32_value
float64 float64_value
int8 int8_value
uint8 uint8_value
int16 int16_value
uint16 uint16_value
int32 int32_value
uint32 uint32_value
int64 int64_value
uint64 uint64_value`;

const DEFAULTS = `bool bool_value true
byte byte_value 50
char char_value 100
float32 float32_value 1.125
float64 float64_value 1.125
int8 int8_value -50
uint8 uint8_value 200
int16 int16_value -1000
uint16 uint16_value 2000
int32 int32_value -30000
uint32 uint32_value 60000
int64 int64_value -40000000
uint64 uint64_value 50000000`;

const CONSTANTS = `bool BOOL_CONST=true
byte BYTE_CONST=50
char CHAR_CONST=100
float32 FLOAT32_CONST=1.125
float64 FLOAT64_CONST=1.125
int8 INT8_CONST=-50
uint8 UINT8_CONST=200
int16 INT16_CONST=-1000
uint16 UINT16_CONST=2000
int32 INT32_CONST=-30000
uint32 UINT32_CONST=60000
int64 INT64_CONST=-40000000
uint64 UINT64_CONST=50000000`;

const NUMBER_LIST_DEFAULTS = [
  ['bool', '[false, true, false]'],
  ['byte', '[0, 1, 255]'],
  ['char', '[0, 1, 127]'],
  ['float32', '[1.125, 0.0, -1.125]'],
  ['float64', '[3.1415, 0.0, -3.1415]'],
  ['int8', '[0, 127, -128]'],
  ['uint8', '[0, 1, 255]'],
  ['int16', '[0, 32767, -32768]'],
  ['uint16', '[0, 1, 65535]'],
  ['int32', '[0, 2147483647, -2147483648]'],
  ['uint32', '[0, 1, 4294967295]'],
  ['int64', '[0, 9223372036854775807, -9223372036854775808]'],
  ['uint64', '[0, 1, 18446744073709551615]'],
] as const;
const STRING_LIST_DEFAULT = ['string', '["", "max value", "min value"]'] as const;

/** The fields of Arrays, BoundedSequences, …, which differ in the kind of list only. */
function lists(list: '[3]' | '[<=3]' | '[]', strings: 'with strings' | 'plain'): string {
  const defaults = strings === 'plain' ? NUMBER_LIST_DEFAULTS : [...NUMBER_LIST_DEFAULTS, STRING_LIST_DEFAULT];
  return [
    ...defaults.map(([type]) => `${type}${list} ${type}_values`),
    `BasicTypes${list} basic_types_values`,
    `Constants${list} constants_values`,
    `Defaults${list} defaults_values`,
    ...defaults.map(([type, values]) => `${type}${list} ${type}_values_default ${values}`),
  ].join('\n');
}

const STRINGS = `string string_value
string string_value_default1 "Hello world!"
string string_value_default2 "Hello'world!"
string string_value_default3 'Hello"world!'
string string_value_default4 'Hello\\'world!'
string string_value_default5 "Hello\\"world!"
string STRING_CONST="Hello world!"
string<=22 bounded_string_value
string<=22 bounded_string_value_default1 "Hello world!"
string<=22 bounded_string_value_default2 "Hello'world!"
string<=22 bounded_string_value_default3 'Hello"world!'
string<=22 bounded_string_value_default4 'Hello\\'world!'
string<=22 bounded_string_value_default5 "Hello\\"world!"`;

const WSTRINGS = `wstring wstring_value
wstring wstring_value_default1 "Hello world!"
wstring wstring_value_default2 "Hellö wörld!"
wstring wstring_value_default3 "ハローワールド"
wstring[3] array_of_wstrings
wstring[<=3] bounded_sequence_of_wstrings
wstring[] unbounded_sequence_of_wstrings`;

const MULTI_NESTED = `Arrays[3] array_of_arrays
BoundedSequences[3] array_of_bounded_sequences
UnboundedSequences[3] array_of_unbounded_sequences
Arrays[<=3] bounded_sequence_of_arrays
BoundedSequences[<=3] bounded_sequence_of_bounded_sequences
UnboundedSequences[<=3] bounded_sequence_of_unbounded_sequences
Arrays[] unbounded_sequence_of_arrays
BoundedSequences[] unbounded_sequence_of_bounded_sequences
UnboundedSequences[] unbounded_sequence_of_unbounded_sequences`;

const NESTED_FIELDS = `Builtins nested_field_no_pkg
test_msgs/BasicTypes nested_field
builtin_interfaces/Time nested_different_pkg`;

const ARRAYS = lists('[3]', 'with strings');
const SCALARS_AND_STRING = `${SCALARS}\nstring string_value`;
const ALIGNMENT = '\nint32 alignment_check';

/** By full type name. */
export const TEST_MSGS: Readonly<Record<string, string>> = {
  'test_msgs/msg/Arrays': ARRAYS + ALIGNMENT,
  'test_msgs/msg/BasicTypes': SCALARS,
  'test_msgs/msg/BoundedPlainSequences': lists('[<=3]', 'plain') + ALIGNMENT,
  'test_msgs/msg/BoundedSequences': lists('[<=3]', 'with strings') + ALIGNMENT,
  'test_msgs/msg/Builtins': 'builtin_interfaces/Duration duration_value\nbuiltin_interfaces/Time time_value',
  'test_msgs/msg/Constants': CONSTANTS,
  'test_msgs/msg/Defaults': DEFAULTS,
  'test_msgs/msg/Empty': '',
  'test_msgs/msg/MultiNested': MULTI_NESTED,
  'test_msgs/msg/Nested': 'BasicTypes basic_types_value',
  'test_msgs/msg/Strings': STRINGS,
  'test_msgs/msg/UnboundedSequences': lists('[]', 'with strings') + ALIGNMENT,
  'test_msgs/msg/WStrings': WSTRINGS,
  'test_msgs/srv/Arrays': `${ARRAYS}\n---\n${ARRAYS}`,
  'test_msgs/srv/BasicTypes': `${SCALARS_AND_STRING}\n---\n${SCALARS_AND_STRING}`,
  'test_msgs/srv/Empty': '---',
  'test_msgs/action/Fibonacci': 'int32 order\n---\nint32[] sequence\n---\nint32[] sequence',
  'test_msgs/action/NestedMessage': [NESTED_FIELDS, NESTED_FIELDS, NESTED_FIELDS].join('\n---\n'),
};
