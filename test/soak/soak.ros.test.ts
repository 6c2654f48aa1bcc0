import { writeSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describeRos } from '../../packages/agent/src/ros/testing/ros.js';
import { brokenBounds, type SoakOptions, soak } from './soak.js';

/** Set by `npm run soak`; else the short form is run, in which memory is shown only: it has not settled. */
const minutes = Number(process.env.DROVER_SOAK_MINUTES ?? '0');

const SHORT = { windows: 7, windowMs: 10_000, warmUpWindows: 2, sampleMs: 500 };
const SLOPE_MIB_MAX = 1;
/** Room for start, last outcomes and stop. */
const AROUND_MS = 180_000;

describeRos('the soak: twenty streams and a command each 100 ms on real ROS 2', () => {
  const long = {
    windows: minutes,
    windowMs: 60_000,
    warmUpWindows: Math.min(5, Math.floor(minutes / 2)),
    sampleMs: 10_000,
  };
  const form = minutes > 0 ? long : SHORT;
  const options: SoakOptions = {
    ...form,
    domainId: minutes > 0 ? 32 : 31,
    // Past vitest, which would hold it back to the end.
    print: (line) => void writeSync(1, `${line}\n`),
  };

  it(
    'no stream stops, every command ends and has its effect once, nothing leaks',
    async () => {
      const report = await soak(options);
      expect(brokenBounds(report, { slopeMiB: minutes > 0 ? SLOPE_MIB_MAX : null })).toEqual([]);
    },
    form.windows * form.windowMs + AROUND_MS,
  );
});
