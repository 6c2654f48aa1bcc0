import {
  type AllowDeny,
  type ComposeRules,
  DEFAULT_COMPOSE_RULES,
  HOST_NAMESPACES,
  type HostNamespace,
  type PortRange,
  type TextPattern,
} from './compose-rules.js';
import { checkImagePattern, imagePattern } from './image-pattern.js';
import { matchesPart } from './name-pattern.js';
import { checkPathPattern, pathPattern } from './path-pattern.js';
import type { PatternKind, PolicyReader } from './policy-reader.js';

const PATHS = { plural: 'absolute paths', check: checkPathPattern, make: pathPattern };
const IMAGES = {
  allow: { plural: 'images', check: checkImagePattern, make: (text: string) => imagePattern(text, 'allow') },
  deny: { plural: 'images', check: checkImagePattern, make: (text: string) => imagePattern(text, 'deny') },
};
const PORTS = { plural: 'ports or ranges of ports', check: checkPorts, make: portRange };
const TEXTS = { plural: 'texts, in which * stands for any characters', check: checkText, make: textPattern };
const CAPABILITIES = { ...TEXTS, plural: 'capabilities', make: (text: string) => textPattern(capability(text)) };
const NAMESPACES: PatternKind<HostNamespace | null> = {
  plural: HOST_NAMESPACES.join(', '),
  check: (text) => (namespace(text) ? null : `is none of ${HOST_NAMESPACES.join(', ')}`),
  make: (text) => namespace(text),
};

type FlagKey = { [K in keyof ComposeRules]: ComposeRules[K] extends boolean ? K : never }[keyof ComposeRules];
type TextsKey = {
  [K in keyof ComposeRules]: ComposeRules[K] extends readonly TextPattern[] ? K : never;
}[keyof ComposeRules];

const FLAGS: Readonly<Record<FlagKey, string>> = {
  privileged: 'privileged',
  dockerSocket: 'docker_socket',
  nestedMounts: 'nested_mounts',
};
const TEXT_LISTS: Readonly<Record<TextsKey, string>> = {
  capabilities: 'capabilities',
  securityOpt: 'security_opt',
  externalVolumes: 'external_volumes',
  externalNetworks: 'external_networks',
  volumeDrivers: 'volume_drivers',
  networkDrivers: 'network_drivers',
  loggingDrivers: 'logging_drivers',
  runtimes: 'runtimes',
  annotations: 'annotations',
  cgroupParents: 'cgroup_parents',
};
const KEYS = [
  ...['images', 'mounts', 'devices', 'ports', 'host_namespaces'],
  ...Object.values(FLAGS),
  ...Object.values(TEXT_LISTS),
];

/**
 * The rules for deployments:
 *
 *     policy:
 *       compose:
 *         privileged: false
 *         host_namespaces: [network, ipc]
 *         images: { allow: ['registry.example.com/robots/**'] }
 *         mounts: { allow: [/data], deny: [{ match: /data/keys, rule: keys }] }
 *         ...
 *
 * What is left out is as DEFAULT_COMPOSE_RULES has it.
 */
export function readComposeRules(reader: PolicyReader, value: unknown, path: string): ComposeRules {
  const given = reader.mapping(value, path, KEYS);
  const has = (key: string) => Object.hasOwn(given, key);
  const at = (key: string) => `${path}.${key}`;
  const flag = (key: FlagKey) => {
    const name = FLAGS[key];
    return has(name) ? reader.flag(given[name], at(name)) : DEFAULT_COMPOSE_RULES[key];
  };
  const texts = (key: TextsKey) => {
    const name = TEXT_LISTS[key];
    const kind = key === 'capabilities' ? CAPABILITIES : TEXTS;
    return has(name) ? reader.patterns(given[name], at(name), kind) : DEFAULT_COMPOSE_RULES[key];
  };
  const lists = <P>(key: string, allow: PatternKind<P>, deny: PatternKind<P>): AllowDeny<P> => {
    if (!has(key)) return { allow: null, deny: [] };
    const both = reader.mapping(given[key], at(key), ['allow', 'deny']);
    return {
      allow: Object.hasOwn(both, 'allow') ? reader.rules(both.allow, `${at(key)}.allow`, allow) : null,
      deny: Object.hasOwn(both, 'deny') ? reader.rules(both.deny, `${at(key)}.deny`, deny) : [],
    };
  };
  const shared = 'host_namespaces';
  return {
    privileged: flag('privileged'),
    dockerSocket: flag('dockerSocket'),
    nestedMounts: flag('nestedMounts'),
    hostNamespaces: has(shared)
      ? reader.patterns(given[shared], at(shared), NAMESPACES).flatMap((one) => one ?? [])
      : DEFAULT_COMPOSE_RULES.hostNamespaces,
    mounts: lists('mounts', PATHS, PATHS),
    devices: lists('devices', PATHS, PATHS),
    images: lists('images', IMAGES.allow, IMAGES.deny),
    ports: lists('ports', PORTS, PORTS),
    capabilities: texts('capabilities'),
    securityOpt: texts('securityOpt'),
    externalVolumes: texts('externalVolumes'),
    externalNetworks: texts('externalNetworks'),
    volumeDrivers: texts('volumeDrivers'),
    networkDrivers: texts('networkDrivers'),
    loggingDrivers: texts('loggingDrivers'),
    runtimes: texts('runtimes'),
    annotations: texts('annotations'),
    cgroupParents: texts('cgroupParents'),
  };
}

/** In a few words, for who looks after the robot: what of it deployments may share, and where its policy goes beyond the defaults or stays behind. */
export function composeSummary(rules: ComposeRules): string {
  const { hostNamespaces } = rules;
  const flags = Object.entries(FLAGS).flatMap(([key, name]) => (rules[key as FlagKey] ? [`${name} allowed`] : []));
  const texts = Object.entries(TEXT_LISTS).flatMap(([key, name]) => {
    const { length } = rules[key as TextsKey];
    return length === 0 ? [] : [`${name} ${length} allowed`];
  });
  const lists = (['images', 'mounts', 'devices', 'ports'] as const).flatMap((key) => {
    const { allow, deny } = rules[key];
    const parts = [
      ...(allow === null ? [] : [`${allow.length} allowed`]),
      ...(deny.length === 0 ? [] : [`${deny.length} denied`]),
    ];
    return parts.length === 0 ? [] : [`${key} ${parts.join(', ')}`];
  });
  const shared = `host namespaces ${hostNamespaces.length === 0 ? 'none' : hostNamespaces.join(', ')}`;
  return [...flags, shared, ...lists, ...texts, 'else the defaults'].join('; ');
}

const TEXT_LENGTH_MAX = 256;
const PORT_MAX = 65_535;

function checkText(text: string): string | null {
  if (text === '' || text.length > TEXT_LENGTH_MAX) return `must have 1 to ${TEXT_LENGTH_MAX} characters`;
  return null;
}

function textPattern(text: string): TextPattern {
  return { text, matches: (other) => matchesPart(text, other) };
}

function capability(text: string): string {
  return text.toUpperCase().replace(/^CAP_/, '');
}

function checkPorts(text: string): string | null {
  const { first, last } = portRange(text);
  if (first >= 1 && first <= last && last <= PORT_MAX) return null;
  return `is no port or range of ports: write 8080 or 8000-8999`;
}

function portRange(text: string): PortRange {
  const range = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
  return { text, first: Number(range?.[1] ?? 0), last: Number(range?.[2] ?? range?.[1] ?? 0) };
}

function namespace(text: string): HostNamespace | null {
  return HOST_NAMESPACES.find((known) => known === text) ?? null;
}
