import { describe } from 'vitest';

/**
 * Tests on real ROS 2. `npm test` makes the environment (scripts/ros/setup.mjs) and says so in DROVER_TEST_ROS=1; to run
 * one file alone: `eval "$(node scripts/ros/setup.mjs --print-env)"; DROVER_TEST_ROS=1 npx vitest run FILE`.
 *
 * Without ROS they are skipped, with the reason in their name; under CI=true they fail instead.
 *
 * Each file takes a ROS_DOMAIN_ID of its own (`DOMAIN_ID`, 1 to 101), passed to the graph and to its peers: files run side by
 * side. `test/side-by-side.test.ts` finds one that is taken twice.
 */
export function describeRos(name: string, tests: () => void): void {
  if (process.env.DROVER_TEST_ROS === '1') {
    describe(name, tests);
    return;
  }
  const reason =
    process.env.DROVER_TEST_ROS_MISSING || 'run by `npm test`, or see packages/agent/src/ros/testing/ros.ts';
  if (process.env.CI === 'true')
    throw new Error(`tests on real ROS 2 must run in CI, and ROS 2 is not there: ${reason}`);
  describe.skip(`${name} (no ROS 2 here: ${reason})`, tests);
}
