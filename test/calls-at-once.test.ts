import { expect, it } from 'vitest';
import { TestAgent } from './support/agent.js';
import { TestCloud } from './support/cloud.js';

const COUNT = 1_000;
const TRIGGER = { interface: 'service', name: '/reset_odometry', type: 'std_srvs/srv/Trigger', payload: {} };

interface Listed {
  uuid: string;
  state: string;
  error_code: string | null;
}

it('runs each of 1,000 calls that are POSTed at once, in one session', async () => {
  const cloud = await TestCloud.start();
  const agent = await TestAgent.start({ url: cloud.url, token: await cloud.register('robot') });
  try {
    await cloud.online('robot');
    const post = async (): Promise<string> => {
      for (;;) {
        const { status, body } = await cloud.call<{ uuid: string }>('POST', '/robots/robot/commands', TRIGGER);
        if (status === 201) return body.uuid;
        expect(status).toBe(429);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    const uuids = await Promise.all(Array.from({ length: COUNT }, post));

    for (let offset = 0; offset < COUNT; offset += 100) {
      const path = `/robots/robot/commands?limit=100&offset=${offset}`;
      const isOver = ({ state }: Listed) => state === 'executed' || state === 'error';
      const page = await cloud.until<Listed[]>(path, (commands) => commands.length === 100 && commands.every(isOver));
      expect(page.map(({ uuid, state, error_code }) => [uuids.includes(uuid), state, error_code])).toEqual(
        page.map(() => [true, 'executed', null]),
      );
    }
    expect(new Set(uuids).size).toBe(COUNT);
    expect(cloud.process.lines.filter(({ msg }) => msg === 'robot disconnected')).toEqual([]);
    const ran = agent.process.lines.filter(({ msg }) => msg === 'command ended');
    expect(ran.length).toBe(COUNT);
  } finally {
    await agent.stop();
    await cloud.stop();
  }
}, 120_000);
