import type { ImagePattern } from './image-pattern.js';
import type { PathPattern } from './path-pattern.js';

/** A rule of a list: as agent.yaml names it, else its place there (`policy.compose.mounts.deny[0]`). */
export interface ListRule<Pattern> {
  readonly name: string;
  readonly pattern: Pattern;
}

export interface AllowDeny<Pattern> {
  /** Null: all that the defaults do not refuse. */
  readonly allow: readonly ListRule<Pattern>[] | null;
  readonly deny: readonly ListRule<Pattern>[];
}

/** A text in which `*` stands for any characters. */
export interface TextPattern {
  readonly text: string;
  matches(text: string): boolean;
}

/** Ports of the robot, both ends included. */
export interface PortRange {
  readonly text: string;
  readonly first: number;
  readonly last: number;
}

/** Namespaces of the robot that a container may share. */
export const HOST_NAMESPACES = ['network', 'ipc', 'pid', 'uts', 'user', 'cgroup'] as const;
export type HostNamespace = (typeof HOST_NAMESPACES)[number];

/** What agent.yaml says under `policy.compose`: what a document may ask of the robot. */
export interface ComposeRules {
  readonly privileged: boolean;
  readonly dockerSocket: boolean;
  readonly nestedMounts: boolean;
  readonly hostNamespaces: readonly HostNamespace[];
  readonly mounts: AllowDeny<PathPattern>;
  readonly devices: AllowDeny<PathPattern>;
  readonly images: AllowDeny<ImagePattern>;
  readonly ports: AllowDeny<PortRange>;
  /** Beside those that no container can do harm with. */
  readonly capabilities: readonly TextPattern[];
  readonly securityOpt: readonly TextPattern[];
  readonly externalVolumes: readonly TextPattern[];
  readonly externalNetworks: readonly TextPattern[];
  readonly volumeDrivers: readonly TextPattern[];
  readonly networkDrivers: readonly TextPattern[];
  readonly loggingDrivers: readonly TextPattern[];
  readonly runtimes: readonly TextPattern[];
  readonly annotations: readonly TextPattern[];
  readonly cgroupParents: readonly TextPattern[];
}

const ANY = { allow: null, deny: [] } as const;

/** Section by section what a robot without a policy lets documents do: all that does not give them the robot itself. */
export const DEFAULT_COMPOSE_RULES: ComposeRules = {
  privileged: false,
  dockerSocket: false,
  nestedMounts: false,
  // DDS finds its peers on the host's network and passes messages through shared memory.
  hostNamespaces: ['network', 'ipc'],
  mounts: ANY,
  devices: ANY,
  images: ANY,
  ports: ANY,
  capabilities: [],
  securityOpt: [],
  externalVolumes: [],
  externalNetworks: [],
  volumeDrivers: [],
  networkDrivers: [],
  loggingDrivers: [],
  runtimes: [],
  annotations: [],
  cgroupParents: [],
};
