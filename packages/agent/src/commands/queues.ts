import type { CommandInterface } from '@drover/shared/link/command';

/**
 * How many of one name may be under way. Topics one after the other; services eight, since the default service QoS keeps
 * ten requests and more in flight were seen to be lost; goals one until it is accepted, then any number runs on.
 */
export const IN_FLIGHT_MAX: Readonly<Record<CommandInterface, number>> = { topic: 1, service: 8, action_send_goal: 1 };

export interface QueuedJob {
  readonly kind: CommandInterface;
  /** Absolute ROS name. */
  readonly name: string;
}

/**
 * Starts a job. The promise settles once it has been handed to ROS (or ended before), so that the next one of the name
 * is started after it; `release` is called once it no longer counts as in flight. Must not reject.
 */
export type StartJob<J> = (job: J, release: () => void) => Promise<void>;

interface Lane<J> {
  readonly waiting: J[];
  inFlight: number;
  starting: boolean;
}

/** Orders jobs: as they came for one interface and name, side by side across names. */
export class JobQueues<J extends QueuedJob> {
  readonly #start: StartJob<J>;
  readonly #lanes = new Map<string, Lane<J>>();

  constructor(start: StartJob<J>) {
    this.#start = start;
  }

  /** How many jobs of this name, added now, would be started at once. */
  room(job: QueuedJob): number {
    const lane = this.#lanes.get(laneKey(job));
    if (!lane) return IN_FLIGHT_MAX[job.kind];
    return lane.waiting.length === 0 && !lane.starting ? IN_FLIGHT_MAX[job.kind] - lane.inFlight : 0;
  }

  add(job: J): void {
    const key = laneKey(job);
    const lane = this.#lanes.get(key) ?? { waiting: [], inFlight: 0, starting: false };
    this.#lanes.set(key, lane);
    lane.waiting.push(job);
    void this.#pump(key, lane);
  }

  /** Takes a waiting job out; false where it is not waiting (any more). */
  remove(job: J): boolean {
    const lane = this.#lanes.get(laneKey(job));
    const at = lane?.waiting.indexOf(job) ?? -1;
    if (!lane || at === -1) return false;
    lane.waiting.splice(at, 1);
    return true;
  }

  async #pump(key: string, lane: Lane<J>): Promise<void> {
    if (lane.starting) return;
    lane.starting = true;
    for (let job = this.#next(lane); job; job = this.#next(lane)) {
      lane.inFlight += 1;
      let released = false;
      await this.#start(job, () => {
        if (released) return;
        released = true;
        lane.inFlight -= 1;
        void this.#pump(key, lane);
      });
    }
    lane.starting = false;
    if (lane.inFlight === 0 && lane.waiting.length === 0 && this.#lanes.get(key) === lane) this.#lanes.delete(key);
  }

  #next(lane: Lane<J>): J | undefined {
    const [first] = lane.waiting;
    return first && lane.inFlight < IN_FLIGHT_MAX[first.kind] ? lane.waiting.shift() : undefined;
  }
}

function laneKey(job: QueuedJob): string {
  return `${job.kind} ${job.name}`;
}
