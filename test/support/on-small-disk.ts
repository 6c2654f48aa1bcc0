import { join } from 'node:path';
import { expect } from 'vitest';
import { TestAgent } from './agent.js';
import { TestCloud } from './cloud.js';
import { COUNTER, counterGoesOn } from './counter.js';
import { SmallDisk } from './small-disk.js';
import { addStream } from './streams.js';

/** MiB: filled in a moment, and more than what either side keeps in a test. */
const DISK_MIB = 64;

/** A cloud and the agent of its robot `rover-1`, which streams its counter; the data of one of them is on a small disk. */
export interface OnSmallDisk {
  readonly cloud: TestCloud;
  readonly agent: TestAgent;
  readonly disk: SmallDisk;
  /** Makes room, and ends them; fails where one of ours did not end well. */
  stop(): Promise<void>;
}

/**
 * Resolves once the counter's values are stored.
 * @param whose data is on the disk
 * @param agentOptions as TestAgent takes them
 */
export async function startOnSmallDisk(
  whose: 'cloud' | 'agent',
  agentOptions: { env?: Record<string, string>; supervised?: boolean } = {},
): Promise<OnSmallDisk> {
  const disk = new SmallDisk(DISK_MIB);
  const cloud = await TestCloud.start({}, whose === 'cloud' ? join(disk.path, 'cloud') : undefined);
  const agent = await TestAgent.start({
    url: cloud.url,
    token: await cloud.register('rover-1'),
    ...(whose === 'agent' ? { dataDir: join(disk.path, 'agent') } : {}),
    ...agentOptions,
  });
  await cloud.online('rover-1');
  await addStream(cloud, COUNTER.source, COUNTER.type, COUNTER.hz);
  await counterGoesOn(cloud);
  const stop = async () => {
    disk.free();
    expect(await agent.stop()).toBe(0);
    expect(await cloud.stop()).toBe(0);
    disk.unmount();
  };
  return { cloud, agent, disk, stop };
}
