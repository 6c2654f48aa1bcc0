/** Run as a process of its own: takes the command argv[3] into the inbox of argv[2] and dies of SIGKILL at once. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { openInbox } from './open.js';

const [, , dataDir = '', uuid = ''] = process.argv;
const options = { newId: randomUUID, now: Date.now, monotonicNow: () => 0, log: pino({ level: 'silent' }) };
const inbox = openInbox({ ...options, dataDir });
const command = {
  kind: 'command',
  uuid,
  interface: 'topic',
  name: '/a',
  type: 'std_msgs/msg/Empty',
  payload: {},
  deadline_cloud_ms: 0,
  life_ms: 0,
  timeout_ms: 1,
  latched: false,
} as const;
inbox.take([{ command, running: true, goalId: null }], 1);
process.kill(process.pid, 'SIGKILL');
