import { HARMLESS_VOLUME_TYPES, USUAL_DRIVERS } from './compose-defaults.js';
import { isAllowedText, type Judge } from './compose-judge.js';
import { KNOWN_KEYS } from './compose-keys.js';

type Mapping = Readonly<Record<string, unknown>>;

/** What the engine takes for a name. Anything else, a path say, would mean something else to it. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;

/** Judges a volume of the document; where it is a directory of the robot, compose-mounts.ts judges that. */
export function checkVolume(judge: Judge, volume: Mapping, path: string): void {
  judge.knownKeys(volume, path, KNOWN_KEYS.volume);
  checkLabels(judge, volume.labels, `${path}.labels`);
  const name = judge.text(volume.name, `${path}.name`);
  checkName(judge, name, `${path}.name`);
  const isAllowed = isAllowedText(judge.rules.externalVolumes, name);
  if (!isAllowed && (isSet(volume.external) || judge.surroundings.foreignVolumes.has(name))) {
    judge.refuse('policy.compose.external_volumes', path, `the volume ${name} is not of this deployment`);
  }
  const driver = judge.text(volume.driver, `${path}.driver`);
  if (!USUAL_DRIVERS.volume.some((usual) => usual === driver)) {
    if (isAllowedText(judge.rules.volumeDrivers, driver)) return;
    judge.refuse('policy.compose.volume_drivers', `${path}.driver`, `the driver ${driver} is a program of the robot's`);
    return;
  }
  const { device, type, o } = volumeOptions(judge, volume, path);
  if (device === '' || isBindOption(o) || HARMLESS_VOLUME_TYPES.has(type)) return;
  const message = `a file system of type ${JSON.stringify(type)} on ${device} may be the robot's own disk`;
  judge.refuse('policy.compose.mounts', `${path}.driver_opts`, message);
}

/** The path of the robot that a volume is, by the local driver's options; null where it is none. */
export function boundDirectory(judge: Judge, volume: Mapping, path: string): string | null {
  const { device, o } = volumeOptions(judge, volume, path);
  return isBindOption(o) ? device : null;
}

function volumeOptions(judge: Judge, volume: Mapping, path: string): { device: string; type: string; o: string } {
  const options = judge.mapping(volume.driver_opts, `${path}.driver_opts`);
  const text = (key: string) => {
    const value = options[key];
    return typeof value === 'number' ? String(value) : judge.text(value, `${path}.driver_opts.${key}`);
  };
  for (const key of Object.keys(options)) {
    // The engine knows these three and `size`; a driver of another name is allowed by name or not at all.
    const isLocal = USUAL_DRIVERS.volume.some((usual) => usual === (volume.driver ?? ''));
    if (isLocal && !['device', 'type', 'o', 'size'].includes(key)) {
      judge.refuse('unknown_key', `${path}.driver_opts.${key}`, 'is no option of the local driver');
    }
  }
  return { device: text('device'), type: text('type'), o: text('o') };
}

/** The kernel goes by this option, whatever the type says. */
function isBindOption(o: string): boolean {
  return o.split(',').some((option) => /^r?bind$/i.test(option.trim()));
}

export function checkNetwork(judge: Judge, network: Mapping, path: string): void {
  judge.knownKeys(network, path, KNOWN_KEYS.network);
  checkLabels(judge, network.labels, `${path}.labels`);
  const name = judge.text(network.name, `${path}.name`);
  checkName(judge, name, `${path}.name`);
  const isAllowed = isAllowedText(judge.rules.externalNetworks, name);
  if (!isAllowed && (isSet(network.external) || judge.surroundings.foreignNetworks.has(name))) {
    judge.refuse('policy.compose.external_networks', path, `the network ${name} is not of this deployment`);
  }
  const driver = judge.text(network.driver, `${path}.driver`);
  if (driver === 'host' && !judge.rules.hostNamespaces.includes('network')) {
    judge.refuse('policy.compose.host_namespaces', `${path}.driver`, "is the robot's own network (network)");
  }
  if (USUAL_DRIVERS.network.some((usual) => usual === driver) || isAllowedText(judge.rules.networkDrivers, driver))
    return;
  judge.refuse('policy.compose.network_drivers', `${path}.driver`, `the driver ${driver} is a program of the robot's`);
}

/** Judges a config or a secret. A file is mounted: compose-mounts.ts judges that. */
export function checkText(judge: Judge, text: Mapping, path: string): void {
  judge.knownKeys(text, path, KNOWN_KEYS.text);
  checkLabels(judge, text.labels, `${path}.labels`);
  for (const key of ['environment', 'external', 'driver', 'template_driver'] as const) {
    if (!isSet(text[key])) continue;
    const rule = key === 'environment' ? 'environment' : 'unknown_key';
    judge.refuse(rule, `${path}.${key}`, "nothing of the robot's own is passed on");
  }
}

/** Labels by which compose and the agent know what is theirs. */
const RESERVED_LABELS = ['com.docker.compose.', 'drover.'];

export function checkLabels(judge: Judge, value: unknown, path: string): void {
  const names = Array.isArray(value)
    ? judge.texts(value, path).map(({ text }) => text.split('=', 1)[0] ?? '')
    : Object.keys(judge.mapping(value, path));
  for (const name of names) {
    if (!RESERVED_LABELS.some((reserved) => name.toLowerCase().startsWith(reserved))) continue;
    judge.refuse('reserved_labels', `${path}.${name}`, 'is a label by which compose and the agent know what is theirs');
  }
}

function checkName(judge: Judge, name: string, path: string): void {
  if (name === '' || NAME.test(name)) return;
  judge.refuse('unknown_key', path, `${JSON.stringify(name)} is no name: use letters, digits, _, . and -`);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}
