import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { silent, tempDataDir } from '../../spool/fixture.js';
import { DeployError } from '../document/deploy-error.js';
import { Deployer, type DeployerParts } from './deployer.js';
import { StateFile } from './state-file.js';

/** Of a class of ours, what is used here. */
function standIn<T>(part: Partial<T>): T {
  return part as T;
}

function assignment(version: number) {
  return { compose: { id: 'app', version, name: 'app', content: {}, assignment: randomUUID() } };
}

it('is not told of a failure over what was assigned while the engine was asked for its cause', async () => {
  const state = new StateFile({ directory: tempDataDir(), newId: randomUUID, log: silent });
  const second = assignment(2);
  const brought: number[] = [];
  let pings = 0;
  const deployer: Deployer = new Deployer({
    state,
    cli: standIn<DeployerParts['cli']>({ endLeftovers: async () => 0 }),
    engine: standIn<DeployerParts['engine']>({
      ping: async () => {
        pings += 1;
        if (pings === 1) deployer.apply(second, 'robot-1');
      },
    }),
    observer: standIn<DeployerParts['observer']>({
      ...{ containers: [], losses: 0, stopped: new Set<string>(), onChange: () => () => {} },
      ...{ start: () => {}, stop: async () => {} },
    }),
    applier: standIn<DeployerParts['applier']>({
      services: [],
      up: async ({ version }) => {
        brought.push(version);
        if (version === 1) throw new DeployError('start_failed', 'no');
        return {};
      },
    }),
    progress: standIn<DeployerParts['progress']>({
      ...{ unavailable: null, setUnavailable: () => {}, setImages: () => {}, setPhase: () => {}, setUnsure: () => {} },
    }),
    ...{ wallNow: Date.now, monotonicNow: () => performance.now(), log: silent },
  });
  deployer.apply(assignment(1), 'robot-1');
  await expect.poll(() => state.state.task).toMatchObject({ assignment: second.compose.assignment, stage: 'done' });
  expect(state.state.good).toMatchObject({ version: 2 });
  expect(brought).toEqual([1, 2]);
  await deployer.stop();
});
