/**
 * A robot that sends valid batches as fast as the network takes them, in a process of its own so that it keeps nobody else from
 * working. `node flood-process.js URL TOKEN ROWS BYTES`; at the end of its standard input it prints what was acknowledged.
 */
import { RawRobot } from './raw-robot.js';

const [, , url = '', token = '', rows, bytes] = process.argv;
let stopping = false;
process.stdin.resume().once('end', () => {
  stopping = true;
});
const robot = await RawRobot.connect(url, token);
const startMs = Date.now();
const flooding = robot.flood({
  rows: Number(rows),
  bytes: Number(bytes),
  stop: () => stopping,
});
await Promise.race([flooding, new Promise((resolve) => process.stdin.once('end', resolve))]);
const seconds = (Date.now() - startMs) / 1000;
const { rowsAcked, aheadMax, endedWith } = robot;
process.stdout.write(JSON.stringify({ rowsASecond: rowsAcked / seconds, aheadMax, endedWith }));
process.exit(0);
