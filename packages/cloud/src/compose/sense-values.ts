import { isIP } from 'node:net';

/** As composes read them, each by its age: `1m30s`, `500ms`, `0`; `1d` and `1w` are the newer ones'. */
export function isDuration(text: string): boolean {
  // One way only to read each digit: with two, many digits without a unit take the square of their number, or worse.
  return (
    text.length <= DURATION_LENGTH_MAX && /^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$/u.test(text)
  );
}

/** Far above what anybody writes; it bounds the work, whatever the expression is. */
const DURATION_LENGTH_MAX = 100;

const PORT_MAX = 65535;

/** Why an entry of `ports` is none; null where nothing is wrong with it, or a variable makes it. */
export function portTrouble(port: unknown): string | null {
  if (typeof port === 'number') {
    return Number.isInteger(port) && port >= 1 && port <= PORT_MAX ? null : `${port} is no port: 1 to ${PORT_MAX} are`;
  }
  if (typeof port === 'string') return port.includes('$') ? null : shortTrouble(port);
  if (typeof port !== 'object' || port === null) return null;
  return 'target' in port && port.target !== undefined ? null : 'needs a target, the port in the container';
}

/** `[[address:][published[-published]:]]target[-target][/protocol]`. */
function shortTrouble(text: string): string | null {
  const [ports = '', protocol] = text.split('/');
  if (protocol && !/^(tcp|udp|sctp)$/i.test(protocol)) return `${protocol} is no protocol: tcp, udp and sctp are`;
  const parts = ports.split(':');
  const target = rangeOf(parts.pop() ?? '');
  if (!target || target.first === 0) {
    return `${JSON.stringify(text)} is no port; write "8080:80", "127.0.0.1:8080:80", "80/udp" or "8000-8005:8000-8005"`;
  }
  const publishedText = parts.pop() ?? '';
  const published = publishedText === '' ? undefined : rangeOf(publishedText);
  if (published === null) return `${JSON.stringify(publishedText)} is no port or range of ports to publish`;
  const address = parts.join(':').replace(/^\[(.*)\]$/, '$1');
  const isBare6 = parts.length > 1 && !ports.startsWith('[');
  if (parts.length > 0 && address !== '' && (isBare6 || isIP(address) === 0)) {
    return `${JSON.stringify(parts.join(':'))} is no IP address (IPv6 in brackets)`;
  }
  if (published && target.count > 1 && published.count !== target.count) {
    return `publishes ${published.count} ports for ${target.count}`;
  }
  return null;
}

/** Null where the text is none. */
function rangeOf(text: string): { first: number; count: number } | null {
  const match = /^(\d{1,8})(?:-(\d{1,8}))?$/.exec(text);
  if (!match) return null;
  const first = Number(match[1]);
  const last = match[2] === undefined ? first : Number(match[2]);
  return first <= last && last <= PORT_MAX ? { first, count: last - first + 1 } : null;
}
