/** What publishers and subscriber of the MQTT peer agree on. */

export const POINTS_FILTER = 'robots/+/fix/+';

export function topicOf(robot: number, source: number): string {
  return `robots/${robot}/fix/${source}`;
}

/** The subscriber says here how many points it has inserted in all, each time that so many more are. */
export const PROGRESS_TOPIC = 'inserted';
export const PROGRESS_POINTS = 100;
