import { type Finding, notChecked } from './check.js';
import type { Health } from './healthz.js';

/** A Date header tells whole seconds, cut off. */
const DATE_RESOLUTION_MS = 1_000;
const OFFSET_WARN_MS = 2_000;

/** How far the robot's clock is from the cloud's, by the Date header of /healthz: to a second or so. */
export async function checkClock(health: Promise<Health>): Promise<readonly Finding[]> {
  const asked = await health;
  if ('failure' in asked) return notChecked('the cloud was not reached');
  const { date, sentMs, receivedMs } = asked.answer;
  const dateMs = Date.parse(date ?? '');
  if (Number.isNaN(dateMs)) return notChecked("the cloud's answer has no Date");
  // Written at some time between our question and its answer, and within the second that it names.
  const leastMs = dateMs - receivedMs;
  const mostMs = dateMs + DATE_RESOLUTION_MS - sentMs;
  const offsetMs = (leastMs + mostMs) / 2;
  const uncertainty = `± ${seconds((mostMs - leastMs) / 2)}`;
  if (Math.abs(offsetMs) <= OFFSET_WARN_MS) {
    return [{ status: 'ok', message: `within ${OFFSET_WARN_MS / 1000} s of the cloud's (${uncertainty})` }];
  }
  const side = offsetMs > 0 ? 'behind' : 'ahead of';
  return [
    {
      status: 'warn',
      message: `the robot's clock is ${seconds(Math.abs(offsetMs))} ${side} the cloud's (${uncertainty})`,
      remedy:
        'nothing is lost by it: the offset is measured while connected, and where it exceeds 1 s the stamps of data and ' +
        "logs are corrected by it\nstamps inside the robot's own messages stay wrong: switch time synchronisation on " +
        '(timedatectl set-ntp true, or chrony)',
    },
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
