import { writeSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import type { Fleet } from './fleet.js';
import { violations } from './invariants.js';
import { faultText, type Plan, planOf } from './plan.js';
import { type RoundReport, runRound, startFleet } from './round.js';
import { recordRound, tallyLine, tallyOf } from './tally.js';

/** Set by `npm run faults`; else the short form is run. */
const seeds = (process.env.DROVER_TEST_FAULTS_SEEDS ?? '1,2,3,4,5,6,7,8').split(',').map(Number);
const outDir = process.env.DROVER_TEST_FAULTS_OUT;

/** A fleet does so many rounds, if it holds; starting one costs as much as a round. */
const ROUNDS_A_FLEET = 12;
const ROUND_MS_MAX = 240_000;

describe('rounds of faults', () => {
  let fleet: Fleet | undefined;
  let rounds = 0;

  /** One that can't be run through leaves no fleet behind. */
  async function run(plan: Plan): Promise<RoundReport> {
    try {
      fleet ??= await startFleet();
      return await runRound(fleet, plan);
    } catch (error) {
      writeSync(1, `seed ${plan.seed} could not be run: ${error instanceof Error ? error.stack : error}\n`);
      await fleet?.discard();
      fleet = undefined;
      throw error;
    }
  }

  async function retire(): Promise<void> {
    const retired = fleet;
    fleet = undefined;
    rounds = 0;
    try {
      await retired?.stop();
      expect(retired?.crashes ?? []).toEqual([]);
    } finally {
      await retired?.discard();
    }
  }

  afterAll(retire);

  for (const seed of seeds) {
    const plan = planOf(seed);
    it(
      `seed ${seed}: nothing is lost, nothing comes twice, every command ends (${plan.faults.map(faultText).join(', ')})`,
      async () => {
        const report = await run(plan);
        const broken = violations(report.history);
        const tally = tallyOf(plan, report, broken);
        // Past vitest, which would hold it back to the end.
        writeSync(1, `${tallyLine(tally)}\n`);
        await recordRound(outDir, { plan, report, broken, tally });
        rounds += 1;
        // What follows a broken round would only tell of it again.
        if (rounds === ROUNDS_A_FLEET || broken.length > 0) await retire();
        expect(broken).toEqual([]);
      },
      ROUND_MS_MAX,
    );
  }
});
