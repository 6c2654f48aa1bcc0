import { REFUSED_DEVICE_MAJORS, REFUSED_DEVICES } from './compose-defaults.js';
import type { Judge, Verdict } from './compose-judge.js';
import { KNOWN_KEYS } from './compose-keys.js';
import { cleanPath, isWithin, type PathPattern } from './path-pattern.js';

type Mapping = Readonly<Record<string, unknown>>;

const RULE = 'policy.compose.devices';
/** `vendor/class=name`, as the robot's owner set it up (Container Device Interface). */
const CDI_NAME = /^[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+=[A-Za-z0-9._:-]+$/;

/** Judges the devices that a service gets. */
export function checkDevices(judge: Judge, service: Mapping, path: string): void {
  for (const [index, value] of judge.list(service.devices, `${path}.devices`).entries()) {
    const at = `${path}.devices[${index}]`;
    // Before 2.25 compose leaves them as they came: SOURCE:TARGET:PERMISSIONS.
    if (typeof value === 'string') {
      judge.apply(at, verdictOn(judge, value.split(':', 1)[0] ?? ''));
      continue;
    }
    const device = judge.mapping(value, at);
    judge.knownKeys(device, at, KNOWN_KEYS.device);
    judge.apply(at, verdictOn(judge, judge.text(device.source, `${at}.source`)));
  }
  for (const { text, path: at } of judge.texts(service.device_cgroup_rules, `${path}.device_cgroup_rules`)) {
    checkCgroupRule(judge, text, at);
  }
  const resources = judge.mapping(
    judge.mapping(service.deploy, `${path}.deploy`).resources,
    `${path}.deploy.resources`,
  );
  const at = `${path}.deploy.resources.reservations`;
  checkRequests(judge, judge.mapping(resources.reservations, at).devices, `${at}.devices`);
  checkRequests(judge, service.gpus, `${path}.gpus`);
}

function verdictOn(judge: Judge, source: string): Verdict {
  const { allow, deny } = judge.rules.devices;
  if (!source.startsWith('/')) {
    if (allow === null && CDI_NAME.test(source)) return null;
    return { rule: RULE, message: `${JSON.stringify(source)} is no absolute path of a device` };
  }
  const real = judge.surroundings.realPath(cleanPath(source));
  if (real === null) return { rule: RULE, message: `${source} can't be followed by the agent's user` };
  const forms = [...new Set([cleanPath(source), cleanPath(real)])];
  for (const form of forms) {
    const denied = deny.find(({ pattern }) => touches(pattern, form));
    if (denied) return { rule: denied.name, message: `${form} is denied (${denied.pattern.text})` };
  }
  const allowed = forms.flatMap((form) => allow?.find(({ pattern }) => pattern.covers(form)) ?? []);
  // What the owner lists stands for the device that it leads to.
  if (allowed.length > 0) {
    const isListed = forms.every((form) => allow?.some(({ pattern }) => leadsTo(judge, pattern, form)));
    if (isListed) return null;
  }
  if (allow !== null) return { rule: `${RULE}.allow`, message: `no rule allows ${source}` };
  for (const form of forms) {
    if (!isWithin(form, '/dev') || form === '/dev') {
      return { rule: RULE, message: `${form} is no single device below /dev` };
    }
    const refused = REFUSED_DEVICES.some((pattern) => touches(pattern, form));
    if (refused || judge.surroundings.isBlockDevice(form)) {
      return { rule: RULE, message: `${form} is, or leads to, the robot's disks or memory` };
    }
  }
  return null;
}

/** Whether the path is one of those, or has one of them below it: the engine hands over all devices of a directory. */
function touches(pattern: PathPattern, path: string): boolean {
  return pattern.covers(path) || pattern.mayBeBelow(path);
}

function leadsTo(judge: Judge, pattern: PathPattern, path: string): boolean {
  if (pattern.covers(path)) return true;
  const real = pattern.text.includes('*') ? null : judge.surroundings.realPath(pattern.literal);
  return real !== null && isWithin(path, cleanPath(real));
}

/** `c 188:* rmw`: kind, major and minor number, what may be done. With mknod, which containers have, such a rule is the device. */
function checkCgroupRule(judge: Judge, text: string, path: string): void {
  const rule = /^\s*c\s+(\d+):(\d+|\*)\s+[rwm]{1,3}\s*$/.exec(text);
  if (rule && judge.rules.devices.allow === null && !REFUSED_DEVICE_MAJORS.has(Number(rule[1]))) return;
  const message = `${JSON.stringify(text)} opens more than character devices of one harmless kind`;
  judge.refuse(RULE, path, judge.rules.devices.allow === null ? message : `${text}: list the devices instead`);
}

const GPU_DRIVERS = ['', 'nvidia', 'amd'];

function checkRequests(judge: Judge, value: unknown, path: string): void {
  if (value === 'all') return;
  for (const [index, request] of judge.list(value, path).entries()) {
    const driver = judge.text(judge.mapping(request, `${path}[${index}]`).driver, `${path}[${index}].driver`);
    if (GPU_DRIVERS.includes(driver)) continue;
    judge.refuse(RULE, `${path}[${index}].driver`, `${driver} is no driver of graphics cards`);
  }
}
