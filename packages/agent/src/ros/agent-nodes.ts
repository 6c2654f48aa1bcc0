/** Name of the node as which the agent acts; relative and private names are resolved as its own (see name-resolution). */
export const AGENT_NODE_NAME = 'drover_agent';
/** How the names of the nodes begin that only read; the underscore hides them from `ros2 node list`. */
export const READER_NODE_PREFIX = '_drover_agent_reader_';

/** Whether a full node name is an agent's, in whatever namespace: none of them acts on what it hears. */
export function isAgentNode(fullName: string): boolean {
  const name = fullName.slice(fullName.lastIndexOf('/') + 1);
  return name === AGENT_NODE_NAME || name.startsWith(READER_NODE_PREFIX);
}
