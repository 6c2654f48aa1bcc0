import type { DefaultValue, MessageDefinition, MessageDefinitionField } from '@foxglove/message-definition';
import { ros2jazzy } from '@foxglove/rosmsg-msgs-common';
import { SERVICES_AND_ACTIONS } from './common/services-actions.js';
import { TEST_MSGS } from './common/test-msgs.js';
import type { DefinitionSource } from './definitions.js';

const messages = new Map<string, MessageDefinition>(Object.entries(ros2jazzy));

/** The interfaces of ROS's common packages (Jazzy), for a graph on a machine that has no ROS. */
export const commonDefinitions: DefinitionSource = {
  async read(type) {
    if (Object.hasOwn(TEST_MSGS, type)) return TEST_MSGS[type];
    if (Object.hasOwn(SERVICES_AND_ACTIONS, type)) return SERVICES_AND_ACTIONS[type];
    const [pkg, kind, name] = type.split('/');
    const definition = kind === 'msg' ? messages.get(`${pkg}/${name}`) : undefined;
    return definition?.definitions.map(fieldText).join('\n');
  },
};

/** Every type there is a definition of, by full name. */
export function commonTypes(): string[] {
  const short = [...messages.keys()].map((name) => name.replace('/', '/msg/'));
  return [...new Set([...short, ...Object.keys(TEST_MSGS), ...Object.keys(SERVICES_AND_ACTIONS)])].sort();
}

/** A parsed field as a line of a .msg file. (Its own `stringify` writes times as ROS 1 had them.) */
function fieldText(field: MessageDefinitionField): string {
  const type =
    field.type === 'time'
      ? 'builtin_interfaces/Time'
      : field.type === 'duration'
        ? 'builtin_interfaces/Duration'
        : field.type;
  const bound = field.upperBound === undefined ? '' : `<=${field.upperBound}`;
  const length = field.arrayLength ?? (field.arrayUpperBound === undefined ? '' : `<=${field.arrayUpperBound}`);
  const array = field.isArray === true ? `[${length}]` : '';
  const value =
    field.isConstant === true
      ? `=${field.valueText ?? String(field.value)}`
      : field.defaultValue === undefined
        ? ''
        : ` ${literal(field.defaultValue)}`;
  return `${type}${bound}${array} ${field.name}${value}`;
}

function literal(value: NonNullable<DefaultValue>): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
