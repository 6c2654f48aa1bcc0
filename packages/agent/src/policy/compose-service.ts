import { HARMLESS_CAPABILITIES, HARMLESS_SECURITY_OPT, USUAL_DRIVERS } from './compose-defaults.js';
import { checkDevices } from './compose-devices.js';
import { checkImage } from './compose-image.js';
import { isAllowedText, type Judge } from './compose-judge.js';
import { KNOWN_KEYS } from './compose-keys.js';
import { checkPorts } from './compose-ports.js';
import { checkLabels } from './compose-resources.js';
import type { HostNamespace } from './compose-rules.js';

type Mapping = Readonly<Record<string, unknown>>;

/** Judges all of a service but what it mounts (compose-mounts.ts). */
export function checkService(judge: Judge, service: Mapping, path: string, names: ReadonlySet<string>): void {
  judge.knownKeys(service, path, KNOWN_KEYS.service);
  checkPrivileged(judge, service, path);
  checkNamespaces(judge, service, path, names);
  checkForeignContainers(judge, service, path, names);
  checkCapabilities(judge, service, path);
  checkSecurityOpt(judge, service, path);
  checkDevices(judge, service, path);
  checkDrivers(judge, service, path);
  checkImage(judge, service.image, `${path}.image`);
  checkPorts(judge, service, path);
  checkLabels(judge, service.labels, `${path}.labels`);
  checkEnvironment(judge, service.environment, `${path}.environment`);
  const deploy = judge.mapping(service.deploy, `${path}.deploy`);
  judge.knownKeys(deploy, `${path}.deploy`, KNOWN_KEYS.deploy);
}

function checkPrivileged(judge: Judge, service: Mapping, path: string): void {
  const refuseUnlessFalse = (value: unknown, at: string) => {
    if (value === undefined || value === null || value === false || judge.rules.privileged) return;
    judge.refuse('policy.compose.privileged', at, 'a privileged container is root on the robot');
  };
  refuseUnlessFalse(service.privileged, `${path}.privileged`);
  for (const kind of ['post_start', 'pre_stop'] as const) {
    for (const [index, value] of judge.list(service[kind], `${path}.${kind}`).entries()) {
      const at = `${path}.${kind}[${index}]`;
      const hook = judge.mapping(value, at);
      judge.knownKeys(hook, at, KNOWN_KEYS.hook);
      refuseUnlessFalse(hook.privileged, `${at}.privileged`);
      checkEnvironment(judge, hook.environment, `${at}.environment`);
    }
  }
}

/** By key: the namespace that `host` shares, and the other values that are the container's own affair. */
const NAMESPACES: Readonly<Record<string, { namespace: HostNamespace; own: readonly string[] }>> = {
  network_mode: { namespace: 'network', own: ['', 'none', 'bridge', 'default'] },
  ipc: { namespace: 'ipc', own: ['', 'none', 'private', 'shareable'] },
  pid: { namespace: 'pid', own: ['', 'private'] },
  uts: { namespace: 'uts', own: ['', 'private'] },
  userns_mode: { namespace: 'user', own: ['', 'private'] },
  cgroup: { namespace: 'cgroup', own: ['', 'private'] },
};

function checkNamespaces(judge: Judge, service: Mapping, path: string, names: ReadonlySet<string>): void {
  for (const [key, { namespace, own }] of Object.entries(NAMESPACES)) {
    const at = `${path}.${key}`;
    const mode = judge.text(service[key], at);
    if (own.includes(mode)) continue;
    if (mode === 'host') {
      if (judge.rules.hostNamespaces.includes(namespace)) continue;
      judge.refuse('policy.compose.host_namespaces', at, `shares the robot's ${namespace} namespace (${namespace})`);
    } else if (!mode.startsWith('service:') || !names.has(mode.slice('service:'.length))) {
      // Also a network's name, which network_mode takes past the document's list of networks.
      const message = `${JSON.stringify(mode)} is, or may be, of others on this robot: use host or service:NAME`;
      judge.refuse('foreign_containers', at, message);
    }
  }
}

function checkForeignContainers(judge: Judge, service: Mapping, path: string, names: ReadonlySet<string>): void {
  for (const { text, path: at } of judge.texts(service.volumes_from, `${path}.volumes_from`)) {
    const from = text.replace(/:(ro|rw|z|Z)$/, '');
    if (!names.has(from))
      judge.refuse('foreign_containers', at, 'takes volumes of a container that is not of this document');
  }
  for (const { path: at } of judge.texts(service.external_links, `${path}.external_links`)) {
    judge.refuse('foreign_containers', at, 'links to a container that is not of this document');
  }
  for (const { text, path: at } of judge.texts(service.links, `${path}.links`)) {
    const name = text.split(':', 1)[0] ?? '';
    if (!names.has(name)) judge.refuse('foreign_containers', at, 'links to a container that is not of this document');
  }
}

function checkCapabilities(judge: Judge, service: Mapping, path: string): void {
  for (const { text, path: at } of judge.texts(service.cap_add, `${path}.cap_add`)) {
    // As the engine reads it: in any case, with or without the prefix.
    const name = text.trim().toUpperCase().replace(/^CAP_/, '');
    if (HARMLESS_CAPABILITIES.has(name) || isAllowedText(judge.rules.capabilities, name)) continue;
    judge.refuse('policy.compose.capabilities', at, `${name} reaches beyond the container`);
  }
}

function checkSecurityOpt(judge: Judge, service: Mapping, path: string): void {
  for (const { text, path: at } of judge.texts(service.security_opt, `${path}.security_opt`)) {
    if (HARMLESS_SECURITY_OPT.test(text) || isAllowedText(judge.rules.securityOpt, text)) continue;
    judge.refuse('policy.compose.security_opt', at, `${JSON.stringify(text)} may take away what holds the container`);
  }
}

function checkDrivers(judge: Judge, service: Mapping, path: string): void {
  const { rules } = judge;
  const runtime = judge.text(service.runtime, `${path}.runtime`);
  if (!USUAL_DRIVERS.runtime.some((usual) => usual === runtime) && !isAllowedText(rules.runtimes, runtime)) {
    judge.refuse(
      'policy.compose.runtimes',
      `${path}.runtime`,
      `the runtime ${runtime} is not known to hold a container`,
    );
  }
  const parent = judge.text(service.cgroup_parent, `${path}.cgroup_parent`);
  if (parent !== '' && !isAllowedText(rules.cgroupParents, parent)) {
    judge.refuse(
      'policy.compose.cgroup_parents',
      `${path}.cgroup_parent`,
      "puts the container among the robot's cgroups",
    );
  }
  for (const name of Object.keys(judge.mapping(service.annotations, `${path}.annotations`))) {
    if (isAllowedText(rules.annotations, name)) continue;
    judge.refuse(
      'policy.compose.annotations',
      `${path}.annotations.${name}`,
      'tells the runtime what no policy can judge',
    );
  }
  checkLogging(judge, service, `${path}.logging`);
}

function checkLogging(judge: Judge, service: Mapping, path: string): void {
  const logging = judge.mapping(service.logging, path);
  const driver = judge.text(logging.driver, `${path}.driver`);
  if (isAllowedText(judge.rules.loggingDrivers, driver)) return;
  if (!USUAL_DRIVERS.logging.some((usual) => usual === driver)) {
    judge.refuse('policy.compose.logging_drivers', `${path}.driver`, `${driver} is run by the engine itself`);
  }
  for (const [key, value] of Object.entries(judge.mapping(logging.options, `${path}.options`))) {
    // The engine, which is root, would write into that socket or read that file.
    if (!/^\s*unix|^\s*\/|^\s*file:/i.test(String(value))) continue;
    judge.refuse(
      'policy.compose.logging_drivers',
      `${path}.options.${key}`,
      'has the engine use a socket or a file of the robot',
    );
  }
}

/** Compose would fill in what its own environment has. */
function checkEnvironment(judge: Judge, value: unknown, path: string): void {
  if (Array.isArray(value)) {
    for (const { text, path: at } of judge.texts(value, path)) {
      if (!text.includes('='))
        judge.refuse('environment', at, `${text} has no value: nothing of the robot's is passed on`);
    }
    return;
  }
  for (const [name, inner] of Object.entries(judge.mapping(value, path))) {
    if (inner !== null && inner !== undefined) continue;
    judge.refuse('environment', `${path}.${name}`, "has no value: nothing of the robot's environment is passed on");
  }
}
