/** Name of the node as which the agent acts, in the root namespace; relative and private names are resolved as its own. */
export const AGENT_NODE_NAME = 'drover_agent';
/** How the names of the nodes begin that only read; the underscore hides them from `ros2 node list`. */
export const READER_NODE_PREFIX = '_drover_agent_reader_';

/** Whether a full node name is one of the agent's own. */
export function isAgentNode(fullName: string): boolean {
  return fullName === `/${AGENT_NODE_NAME}` || fullName.startsWith(`/${READER_NODE_PREFIX}`);
}
