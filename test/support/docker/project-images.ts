import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** The project's own images, as scripts/images/build.mjs calls them. */
export const IMAGES = { cloud: 'drover-local/cloud', agent: 'drover-local/agent' };

/** For tests on the project's own images, which take minutes to build: skipped where they are not there, failed under CI=true. */
export function describeImages(name: string, tests: () => void): void {
  const { status } = spawnSync('docker', ['image', 'inspect', ...Object.values(IMAGES)]);
  const reason = 'build the images first: node scripts/images/build.mjs';
  if (status === 0) describe(name, tests);
  else if (process.env.CI === 'true') it(`${name}: needs images`, () => expect.fail(`this must run in CI: ${reason}`));
  else describe.skip(`${name} (${reason})`, tests);
}
