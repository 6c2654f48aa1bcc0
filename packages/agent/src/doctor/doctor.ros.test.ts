import { expect, it } from 'vitest';
import { startRclpyPeer } from '../ros/testing/rclpy-peer.js';
import { describeRos } from '../ros/testing/ros.js';
import { checkRos } from './ros.js';

const DOMAIN_ID = 39;
const env = () => ({
  ...process.env,
  ROS_DOMAIN_ID: String(DOMAIN_ID),
  ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST',
});
/** Ends the process that visits ROS as an abort does, after a word. */
const ABORTS = `--import=data:text/javascript,${encodeURIComponent("process.stderr.write('alas'); process.kill(process.pid, 'SIGABRT');")}`;
const { signal } = new AbortController();

describeRos('doctor on real ROS 2', () => {
  it('warns where nobody publishes, and counts the topics of a robot that does', async () => {
    const [alone] = await checkRos('rclnodejs', env(), signal);
    expect(alone).toMatchObject({ status: 'warn', message: expect.stringContaining('nobody publishes') });

    const peer = await startRclpyPeer({ domainId: DOMAIN_ID });
    try {
      await peer.advertise({ topic: '/seen', type: 'std_msgs/msg/Int64' });
      const [seen] = await checkRos('rclnodejs', env(), signal);
      expect(seen).toMatchObject({ status: 'ok', message: expect.stringContaining(', domain 39, ') });
      expect(seen?.message).toMatch(/rclnodejs works, 1 topic seen$/);
    } finally {
      await peer.stop();
    }
  });

  it('outlives an abort inside ROS and shows its last words', async () => {
    const [finding] = await checkRos('rclnodejs', { ...env(), NODE_OPTIONS: ABORTS }, signal);
    expect(finding).toMatchObject({
      status: 'fail',
      message: expect.stringMatching(/can't be joined.*SIGABRT: alas/s),
    });
    expect(finding?.remedy).toContain('RMW_IMPLEMENTATION');
  });

  it('names a middleware that is not installed, at which ROS would abort', async () => {
    const [finding] = await checkRos('rclnodejs', { ...env(), RMW_IMPLEMENTATION: 'rmw_no_such' }, signal);
    expect(finding).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('RMW_IMPLEMENTATION is rmw_no_such'),
    });
  });

  it('does not set off a build of rclnodejs where it has no addon', async () => {
    const [finding] = await checkRos('rclnodejs', { ...env(), DROVER_RCLNODEJS: '/nowhere' }, signal);
    expect(finding).toMatchObject({ status: 'fail', message: expect.stringContaining('npm rebuild rclnodejs') });
  });
});
