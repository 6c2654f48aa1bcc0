import { describe, expect, it } from 'vitest';
import { textOfIdl } from './idl.js';

const inModule = (body: string) => `module my_msgs { module msg { ${body} }; };`;
const lines = (body: string) => textOfIdl('my_msgs/msg/Thing', inModule(body)).split('\n').slice(0, -1);
const field = (text: string) => lines(`struct Thing { ${text} };`);

describe('a message by its .idl', () => {
  it.each([
    ['octet v;', 'uint8 v'],
    ['char v;', 'uint8 v'],
    ['boolean v;', 'bool v'],
    ['unsigned long long v;', 'uint64 v'],
    ['long v[3];', 'int32[3] v'],
    ['sequence<double> v;', 'float64[] v'],
    ['sequence<string<5>, 4> v;', 'string<=5[<=4] v'],
    ['wstring<7> v;', 'wstring<=7 v'],
    ['geometry_msgs::msg::Point v;', 'geometry_msgs/msg/Point v'],
    ['sequence<my_msgs::msg::Other, 2> v;', 'my_msgs/msg/Other[<=2] v'],
    ['sequence<long> sequence;', 'int32[] sequence'],
    ['string string;', 'string string'],
    ['long short[2];', 'int32[2] short'],
    ['@default (value=TRUE) boolean v;', 'bool v true'],
    ['@default (value=-9223372036854775808) int64 v;', 'int64 v -9223372036854775808'],
    ['@default (value=1.5e3) @unit(value="m") float v;', 'float32 v 1.5e3'],
    ['@default (value="say \\"hi\\" // here; it\'s") string v;', 'string v "say \\"hi\\" // here; it\'s"'],
    ['@default (value="(False, True,)") boolean v[2];', 'bool[2] v [false, true]'],
    ["@default (value=\"('True', 'b')\") string v[2];", "string[2] v ['True', 'b']"],
    ['@key @range (min=0, max=5) @verbatim (language="comment", text= "a" "\\n" "struct {") long v;', 'int32 v'],
    ['long a, b;', 'int32 a,int32 b'],
    ['uint8 structure_needs_at_least_one_member;', ''],
  ])('%s', (idl, text) => {
    expect(field(idl).join()).toBe(text);
  });

  it('has its constants, its typedefs resolved and no comments', () => {
    expect(
      lines(`
        /* struct Thing { long no; }; "quoted */
        const long N = 4; // "also
        typedef float float4[N];
        module Thing_Constants {
          const octet ON = 1;
          const string WORDS = "one" " two";
          const boolean YES = TRUE;
          const int64 LEAST = -9223372036854775808;
        };
        struct Thing { float4 v; };`),
    ).toEqual([
      'uint8 ON=1',
      'string WORDS="one two"',
      'bool YES=true',
      'int64 LEAST=-9223372036854775808',
      'float32[4] v',
    ]);
  });

  it.each([
    ['what is no IDL', 'nonsense', /can't be read/],
    ['another struct', inModule('struct Other { long v; };'), /defines no struct Thing/],
    [
      'an enum',
      inModule('enum E { A, B }; struct Thing { E v; };'),
      /field v is of type .*, which ROS has no form for/,
    ],
    ['a wide character', inModule('struct Thing { wchar v; };'), /field v is of type wchar/],
    ['a long double', inModule('struct Thing { long double v; };'), /can't be read: Could not find node long double/],
    ['an array of arrays', inModule('struct Thing { long v[2][3]; };'), /field v is an array of arrays/],
    ['a union', inModule('union Thing switch (long) { case 1: long v; };'), /defines no struct Thing/],
  ])('refuses %s', (_name, idl, words) => {
    expect(() => textOfIdl('my_msgs/msg/Thing', idl)).toThrow(words);
    expect(() => textOfIdl('my_msgs/msg/Thing', idl)).toThrow(expect.objectContaining({ name: 'DefinitionError' }));
  });
});

it('a service and an action have their parts by their .idl', () => {
  const srv = 'module p { module srv { struct Do_Request { long a; }; struct Do_Response { string b; }; }; };';
  expect(textOfIdl('p/srv/Do', srv)).toBe('int32 a\n---\nstring b\n');
  const action = `module p { module action { module Go_Goal_Constants { const long MAX = 3; };
    struct Go_Goal { long a; }; struct Go_Result { uint8 structure_needs_at_least_one_member; }; struct Go_Feedback { octet c; }; }; };`;
  expect(textOfIdl('p/action/Go', action)).toBe('int32 MAX=3\nint32 a\n---\n---\nuint8 c\n');
});
