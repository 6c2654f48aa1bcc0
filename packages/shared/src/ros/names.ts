/**
 * Names of topics, services, actions and nodes, by the rules of
 * https://design.ros2.org/articles/topic_and_service_names.html.
 */

/** What rmw takes of a fully resolved name (RMW_TOPIC_MAX_NAME_LENGTH): DDS's 255 less 8 for its own prefixes. */
export const ROS_NAME_MAX = 247;

/**
 * What is wrong with a topic, service or action name, absolute (`/a/b`), relative (`a/b`) or private (`~/a`); null when
 * nothing is.
 */
export function checkRosName(name: string): string | null {
  if (name === '') return 'a ROS name must not be empty';
  if (name.length > ROS_NAME_MAX) {
    return `a ROS name must have at most ${ROS_NAME_MAX} characters, this one has ${name.length}`;
  }
  const strange = /[^A-Za-z0-9_/~]/u.exec(name);
  if (strange) {
    return `a ROS name is made of letters, digits, _ and /, not of ${JSON.stringify(strange[0])}`;
  }
  const tilde = name.lastIndexOf('~');
  if (tilde > 0) return 'a ROS name may have ~ only at its beginning';
  if (tilde === 0 && name.length > 1 && name[1] !== '/') return 'a private ROS name begins with ~/, not with ~ alone';
  if (name === '/') return 'a ROS name must not be / alone';
  if (name.endsWith('/')) return 'a ROS name must not end with /';
  if (name.includes('//')) return 'a ROS name must not contain //';
  if (name.includes('__')) return 'a ROS name must not contain __';
  const digit = /(?:^|\/)([0-9][^/]*)/.exec(name);
  if (digit) return `no part of a ROS name may begin with a digit, as ${JSON.stringify(digit[1])} does`;
  return null;
}

/** Whether a name needs no node to be resolved. Says nothing of whether it is valid. */
export function isAbsoluteName(name: string): boolean {
  return name.startsWith('/');
}

/**
 * The absolute name that a valid name means for a node, as ros2 resolves it.
 * @param nodeNamespace `/` or `/a/b`.
 */
export function resolveName(name: string, nodeNamespace: string, nodeName: string): string {
  if (isAbsoluteName(name)) return name;
  const base = nodeNamespace === '/' ? '' : nodeNamespace;
  if (name === '~') return `${base}/${nodeName}`;
  if (name.startsWith('~/')) return `${base}/${nodeName}/${name.slice(2)}`;
  return `${base}/${name}`;
}
