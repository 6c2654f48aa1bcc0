/** What of a document compose would make so much of that it takes minutes and the robot's memory. */
import type { Refuse } from './document.js';

const NESTING_MAX = 20;
/** Compose writes down each by itself, with some hundred bytes. */
const PORTS_MAX = 10_000;
const RANGE = /^(\d{1,5})-(\d{1,5})$/;

/** How deep variables stand within the defaults of others: `${A:-${B:-x}}` is 2. */
function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [sign] of text.matchAll(/\$\$|\$\{|\}/g)) {
    if (sign === '${') deepest = Math.max(deepest, ++depth);
    else if (sign === '}') depth = Math.max(0, depth - 1);
  }
  return deepest;
}

export function checkNesting(text: string, path: string, refuse: Refuse): void {
  if (nestingOf(text) <= NESTING_MAX) return;
  refuse('variables', path, `variables stand more than ${NESTING_MAX} deep within each other: write the value itself`);
}

/** @param ports by their path, of all services. */
export function checkPortCount(ports: Iterable<readonly [path: string, port: unknown]>, refuse: Refuse): void {
  let count = 0;
  for (const [path, port] of ports) {
    count += portsIn(port);
    if (count <= PORTS_MAX) continue;
    const remedy = 'publish fewer, or use network_mode: host, which needs none published';
    refuse('ports', path, `with this the document has more than ${PORTS_MAX} ports, ranges counted out: ${remedy}`);
    return;
  }
}

function portsIn(port: unknown): number {
  const isLong = typeof port === 'object' && port !== null;
  const texts = isLong && 'published' in port ? [port.published] : String(port).split('/', 1)[0]?.split(':').slice(-2);
  const counts = (texts ?? []).map((text) => {
    const range = RANGE.exec(String(text));
    return range === null ? 1 : Number(range[2]) - Number(range[1]) + 1;
  });
  return Math.max(1, ...counts);
}
