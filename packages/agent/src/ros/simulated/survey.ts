import type { GraphSurvey } from '../graph.js';
import { isHidden } from '../hidden.js';
import type { Actions } from './actions.js';
import type { Services } from './services.js';
import type { Topics } from './topics.js';

/** The simulated graph at a glance. */
export function surveyOf(
  nodes: readonly string[],
  parts: { readonly topics: Topics; readonly services: Services; readonly actions: Actions },
): GraphSurvey {
  const { topics, services, actions } = parts;
  const served = (servers: Services | Actions) =>
    visible(servers.names()).map((name) => {
      const found = servers.serversOf(name);
      return { name, types: [...new Set(found.map(({ type }) => type))].sort(), servers: found };
    });
  return {
    nodes: visible(nodes),
    topics: topics
      .list()
      .filter(({ name }) => !isHidden(name))
      .map(({ name, types }) => ({ name, types, ...topics.endpointsOf(name) })),
    services: served(services),
    actions: served(actions),
  };
}

function visible(names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => !isHidden(name)).sort();
}
