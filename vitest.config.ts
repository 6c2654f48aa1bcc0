import { defineConfig } from 'vitest/config';

/** `npm test` runs the tests on real ROS 2 once for each distribution, the others once. */
const onlyRos = process.env.DROVER_TEST_ONLY === 'ros';
const kind = onlyRos ? 'ros.test' : 'test';

export default defineConfig({
  test: {
    // Sources only: a build leaves dist/*.test.js beside them.
    include: [`packages/*/src/**/*.${kind}.ts`, `test/**/*.${kind}.ts`],
    exclude: ['**/node_modules/**', '**/dist/**'],
    pool: 'forks',
    // Bounds for what never comes, not for how fast it comes: the machine may be busy.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
