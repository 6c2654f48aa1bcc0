import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** `npm test` runs the tests on real ROS 2 once for each distribution, the others once. */
const onlyRos = process.env.DROVER_TEST_ONLY === 'ros';
const kind = onlyRos ? 'ros.test' : 'test';

/**
 * These measure what the machine does, or hold a promise in seconds against it, or take all of it: each runs alone, after the
 * others. Every other file runs beside others.
 */
const ALONE = [
  `test/network/**/*.${kind}.ts`,
  `test/faults/**/*.${kind}.ts`,
  `test/soak/**/*.${kind}.ts`,
  `test/isolation*.${kind}.ts`,
  `test/disk-flushes.${kind}.ts`,
  `packages/agent/src/ros/rclnodejs/burst*.${kind}.ts`,
];

export default defineConfig({
  test: {
    exclude: ['**/node_modules/**', '**/dist/**'],
    pool: 'forks',
    // Bounds for what never comes, not for how fast it comes: the machine may be busy.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'beside',
          // Sources only: a build leaves dist/*.test.js beside them.
          include: [`packages/*/src/**/*.${kind}.ts`, `test/**/*.${kind}.ts`, `bench/*.${kind}.ts`],
          exclude: ['**/node_modules/**', '**/dist/**', ...ALONE],
          // Most of their time they wait for processes, leases and deadlines: one more than there are cores keeps two busy.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, fileParallelism: false, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
