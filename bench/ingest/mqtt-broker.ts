import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { lastingPort } from '#test/support/port';

export interface Broker {
  /** mqtt://… */
  readonly url: string;
  stop(): Promise<void>;
}

/** Debian keeps it where a user's PATH does not lead. */
export const BROKER_PATH = [process.env.PATH ?? '', '/usr/sbin', '/usr/local/sbin'].join(delimiter);

/**
 * mosquitto on a free port of the loopback, with nothing in its way: no Nagle, nothing on its disk, and no message that it drops
 * because a subscriber is slower than the publishers. @throws Error where it does not come up
 */
export async function startBroker(dir: string): Promise<Broker> {
  mkdirSync(dir, { recursive: true });
  // It takes no port 0. Somebody else may take this one meanwhile: then it ends, and says so.
  const port = await lastingPort();
  const config = join(dir, 'mosquitto.conf');
  const lines = [
    `listener ${port} 127.0.0.1`,
    ...['allow_anonymous true', 'persistence false', 'log_dest stderr', 'log_type error', 'log_type warning'],
    ...['set_tcp_nodelay true', 'max_inflight_messages 1000', 'max_queued_messages 0'],
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const broker = spawn('mosquitto', ['-c', config], {
    env: { ...process.env, PATH: BROKER_PATH },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let end: string | undefined;
  const exited = once(broker, 'exit').then(([code, signal]) => {
    end = `mosquitto ended with ${code ?? signal}`;
  });
  while (!(await accepts(port))) {
    if (end !== undefined) throw new Error(end);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    url: `mqtt://127.0.0.1:${port}`,
    stop: async () => {
      broker.kill();
      await exited;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const told = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => told(true)).once('error', () => told(false));
  });
}
