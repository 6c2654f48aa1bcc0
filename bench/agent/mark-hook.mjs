// Imported first by the agent of the benchmark `agent`: notes when a command is on its disk, and when its end is known, by the clock
// that all processes of a machine share. What the agent does stays as it is.
import { appendFileSync } from 'node:fs';
import { Inbox } from '@drover/agent/dist/spool/inbox.js';

let lines = '';
const note = (what, uuid) => {
  lines += `${what} ${uuid} ${process.hrtime.bigint()}\n`;
};
const { take, finish } = Inbox.prototype;
Inbox.prototype.take = function (requests, nowMs) {
  const numbers = take.call(this, requests, nowMs);
  for (const { command } of requests) note('taken', command.uuid);
  return numbers;
};
Inbox.prototype.finish = function (outcomes) {
  for (const { uuid } of outcomes) note('ended', uuid);
  finish.call(this, outcomes);
};
setInterval(() => {
  if (lines !== '') appendFileSync(process.env.BENCH_MARKS_FILE, lines);
  lines = '';
}, 200).unref();
