import { spawnSync } from 'node:child_process';
import { describeWhere, whyNoDocker } from './docker.js';

/** The project's own images, as scripts/images/build.mjs calls them. */
export const IMAGES = { cloud: 'drover-local/cloud', agent: 'drover-local/agent' };

/** For tests on the project's own images, which take minutes to build: skipped where they are not there, failed under CI=true. */
export function describeImages(name: string, tests: () => void): void {
  describeWhere(whyNoDocker() ?? whyNoImages(), name, tests);
}

function whyNoImages(): string | null {
  const { status } = spawnSync('docker', ['image', 'inspect', ...Object.values(IMAGES)]);
  return status === 0 ? null : 'build the images first: node scripts/images/build.mjs';
}
