/** Told of an error in code that the graph called: a handler, a subscriber. The graph goes on. */
export type OnFault = (where: string, error: unknown) => void;
