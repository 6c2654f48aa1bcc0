import { readFileSync } from 'node:fs';
import type { ComposePlanAnswer } from '@drover/shared/link/compose-answers';
import { z } from 'zod';

type Port = ComposePlanAnswer['ports'][number];

const PORTS_MAX = 1000;

const published = z.object({
  published: z.union([z.string(), z.number()]).optional(),
  host_ip: z.string().optional(),
  protocol: z.string().optional(),
});
const serviceSchema = z.object({ ports: z.array(published).nullish() });
const projectSchema = z.object({ services: z.record(z.string(), serviceSchema) });

/** A port of the robot that a container has. */
export interface TakenPort {
  readonly port: number;
  readonly protocol: string;
  readonly ip: string;
  readonly container: string;
  readonly isOurs: boolean;
}

/**
 * The ports that a document asks for, and who has them.
 * @param normalised in compose's normal form.
 * @param listening what any process listens on, as the kernel says.
 */
export function portsOf(normalised: unknown, taken: readonly TakenPort[], listening: readonly Listener[]): Port[] {
  const { services } = projectSchema.parse(normalised);
  const found: Port[] = [];
  for (const [service, { ports }] of Object.entries(services)) {
    for (const { published: range, host_ip, protocol } of ports ?? []) {
      for (const number of rangeOf(range)) {
        // Not all of them first: ranges may stand for many millions.
        if (found.length >= PORTS_MAX) return found;
        const port = { service, host_ip: host_ip || '0.0.0.0', port: number, protocol: protocol ?? 'tcp' };
        found.push({ ...port, ...holderOf(port, taken, listening) });
      }
    }
  }
  return found;
}

function holderOf(
  { host_ip, port, protocol }: Pick<Port, 'host_ip' | 'port' | 'protocol'>,
  taken: readonly TakenPort[],
  listening: readonly Listener[],
): Pick<Port, 'free' | 'taken_by'> {
  const holders = taken.filter((one) => one.port === port && one.protocol === protocol && meet(one.ip, host_ip));
  // Ours give theirs back when they are replaced, or keep it for the same service.
  if (holders.some(({ isOurs }) => isOurs)) return { free: true, taken_by: null };
  const holder = holders[0];
  if (holder) return { free: false, taken_by: holder.container };
  const isHeard = listening.some((one) => one.port === port && one.protocol === protocol && meet(one.ip, host_ip));
  return { free: !isHeard, taken_by: null };
}

/** `8080`, or `8000-8010`; none where the engine takes a free one. */
function rangeOf(value: string | number | undefined): number[] {
  const range = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(String(value ?? ''));
  const first = Number(range?.[1] ?? 0);
  const last = Math.min(Number(range?.[2] ?? first), 65_535);
  if (first === 0) return [];
  return Array.from({ length: Math.max(Math.min(last - first + 1, PORTS_MAX), 0) }, (_, index) => first + index);
}

const ANY = new Set(['', '0.0.0.0', '::']);

/** Whether both can't be had at once: an address of any network is all of them. */
function meet(one: string, other: string): boolean {
  return ANY.has(one) || ANY.has(other) || one === other;
}

export interface Listener {
  readonly protocol: 'tcp' | 'udp';
  readonly ip: string;
  readonly port: number;
}

/** Kernel's states of a socket that others can't bind beside: listening, and for UDP bound. */
const BUSY = { tcp: '0A', udp: '07' } as const;

/** What processes of this network namespace listen on; in a container without the host's network, only there. */
export function listeners(directory = '/proc/net'): Listener[] {
  return (['tcp', 'udp'] as const).flatMap((protocol) =>
    [protocol, `${protocol}6`].flatMap((file) => {
      const lines = readLines(`${directory}/${file}`);
      return lines.flatMap((line) => {
        const [, local = '', , state] = line.trim().split(/\s+/);
        const [address = '', port = ''] = local.split(':');
        if (state !== BUSY[protocol]) return [];
        return [{ protocol, ip: addressOf(address), port: Number.parseInt(port, 16) }];
      });
    }),
  );
}

/** The kernel writes it in hexadecimal, each four bytes in the machine's order. */
function addressOf(hex: string): string {
  const bytes = hex.match(/../g) ?? [];
  if (bytes.every((byte) => byte === '00')) return '0.0.0.0';
  if (bytes.length === 4)
    return bytes
      .reverse()
      .map((byte) => Number.parseInt(byte, 16))
      .join('.');
  // IPv4 in IPv6's form; others are told by their own text, which no document has.
  if (/^0{16}(0000FFFF|FFFF0000)/i.test(hex)) return addressOf(hex.slice(24));
  return hex === '00000000000000000000000001000000' ? '::1' : hex;
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').trim().split('\n').slice(1);
  } catch {
    return [];
  }
}
