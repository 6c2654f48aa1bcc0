import { afterAll, beforeAll, describe } from 'vitest';
import { Bench, type GraphFixture } from './contract/bench.js';
import { callContract } from './contract/call.js';
import { goalsContract } from './contract/goals.js';
import { graphContract } from './contract/graph.js';
import { publishContract } from './contract/publish.js';
import { subscribeContract } from './contract/subscribe.js';
import { surveyContract } from './contract/survey.js';

export type { GraphFixture };

/** What everything above the port relies on, run on every implementation of it. */
export function describeGraphContract(name: string, makeFixture: () => Promise<GraphFixture>): void {
  describe(`the ROS graph port (${name})`, () => {
    const bench = new Bench(makeFixture);
    beforeAll(() => bench.open());
    afterAll(() => bench.close());

    graphContract(bench);
    publishContract(bench);
    callContract(bench);
    goalsContract(bench);
    subscribeContract(bench);
    surveyContract(bench);
  });
}
