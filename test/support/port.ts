import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below 32768, where Linux begins to give ports to connections (net.ipv4.ip_local_port_range), and above what is used by name. */
const PORTS = { from: 12_000, to: 32_000 };

/**
 * A port for a process that is restarted: one of those that are given for port 0 may be taken by anybody's connection while the process
 * is down.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
