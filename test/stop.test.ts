import { expect, it } from 'vitest';
import { TestCloud } from './support/cloud.js';

/** A machine whose thread pool is busy: what a process hands to it is done half a second later, or not at all. */
const LATE_WRITES = `--import=data:text/javascript,${encodeURIComponent(
  "import fs from 'node:fs'; const write = fs.write; fs.write = (...args) => setTimeout(() => write(...args), 500);",
)}`;

it('a cloud says all of its last lines, in order, however busy the machine is', async () => {
  const cloud = await TestCloud.start({ NODE_OPTIONS: LATE_WRITES });
  await cloud.stop();
  expect(cloud.process.lines.slice(-2).map((line) => line.msg)).toEqual(['stopping', 'stopped']);
});
