import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY, type TestCloud } from '../support/cloud.js';
import type { CommandHistory } from './history.js';
import type { PlannedChange, PlannedCommand } from './plan.js';

/** A client that hears nothing for so long gives the request up, not knowing whether it was done. */
const PATIENCE_MS = 2_500;
const RETRY_MS = 150;

/** How long a command lives where its `ttl_s` is 0. */
const DELIVERY_MS = 5_000;

interface Sent {
  readonly planned: PlannedCommand;
  readonly answered: string[];
}

interface ListedCommand {
  uuid: string;
  interface: string;
  state: string;
  error_code: string | null;
  created_at: string;
  payload: { data?: string; a?: number | string; order?: number };
}

/** Commands and changes as a program of an operator's sends them to a cloud that comes and goes. */
export class FaultClient {
  readonly #cloud: TestCloud;
  readonly #sent: Sent[] = [];
  #over = false;

  constructor(cloud: TestCloud) {
    this.#cloud = cloud;
  }

  /** What is asked while it is false and is not answered is asked again, where that can do no harm. */
  set isOver(isOver: boolean) {
    this.#over = isOver;
  }

  async send(planned: PlannedCommand): Promise<void> {
    const sent: Sent = { planned, answered: [] };
    this.#sent.push(sent);
    const path = `/robots/robot-${planned.robot}/commands`;
    const key: Record<string, string> = planned.idempotent ? { 'idempotency-key': `key-${planned.id}` } : {};
    for (let left = planned.repeats; left >= 0; left -= 1) {
      const answer = await this.#call<{ uuid: string }>('POST', path, commandBody(planned), key, planned.idempotent);
      if (answer?.status === 200 || answer?.status === 201) sent.answered.push(answer.body.uuid);
    }
    const [uuid] = sent.answered;
    if (planned.cancelAfterMs === null || uuid === undefined) return;
    await sleep(planned.cancelAfterMs);
    await this.#call('POST', `/commands/${uuid}/cancel`, {}, {}, true);
  }

  /** Brings a stream to what was planned, as often as it takes to be answered. */
  async change({ robot, source, hz, enabled }: PlannedChange): Promise<void> {
    const streams = `/robots/robot-${robot}/streams`;
    const path = `${streams}/${encodeURIComponent(source)}`;
    if (hz === 0) {
      await this.#call('DELETE', path, undefined, {}, true);
      return;
    }
    const type = TYPES[source as keyof typeof TYPES];
    await this.#call('POST', streams, { source, type, hz }, {}, true);
    await this.#call('PATCH', path, { enabled, hz }, {}, true);
  }

  /** Whether every command sent so far has ended. */
  async allEnded(): Promise<boolean> {
    const open = await Promise.all(
      ['created', 'sent'].map((state) => this.#cloud.get<unknown[]>(`/commands?limit=1&state=${state}`)),
    );
    return open.flat().length === 0;
  }

  /** What became of each command, by the numbers in their payloads. */
  async histories(): Promise<CommandHistory[]> {
    const found = new Map<string, ListedCommand[]>();
    for (const robot of new Set(this.#sent.map(({ planned }) => `robot-${planned.robot}`))) {
      for (const listed of await this.#cloud.get<ListedCommand[]>(`/robots/${robot}/commands?limit=1000`)) {
        const { data, a, order } = listed.payload;
        const key = `${robot} ${listed.interface} ${data ?? a ?? order}`;
        found.set(key, [...(found.get(key) ?? []), listed]);
      }
    }
    return this.#sent.map(({ planned, answered }) => {
      const robot = `robot-${planned.robot}`;
      const { id, interface: kind } = planned;
      const rows = (found.get(`${robot} ${kind} ${id}`) ?? []).map(({ uuid, state, error_code, created_at }) => {
        const deadlineMs = monotonicMs(Date.parse(created_at)) + lifeMs(planned);
        return { uuid, state, errorCode: error_code, deadlineMs };
      });
      return { id, robot, interface: kind, answered, rows };
    });
  }

  /** One request; undefined where no answer came. `untilAnswered`: again and again, for what may be done twice. */
  async #call<T>(
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string>,
    untilAnswered: boolean,
  ): Promise<{ status: number; body: T } | undefined> {
    for (;;) {
      try {
        const response = await fetch(this.#cloud.url + path, {
          method,
          headers: { 'svc-api-key': API_KEY, 'content-type': 'application/json', ...headers },
          signal: AbortSignal.timeout(PATIENCE_MS),
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
      } catch {
        if (!untilAnswered || this.#over) return undefined;
        await sleep(RETRY_MS);
      }
    }
  }
}

/** A time of the cloud's wall clock, which is ours, by the monotonic clock that all processes of this machine have in common. */
function monotonicMs(wallMs: number): number {
  return wallMs - Date.now() + Number(process.hrtime.bigint() / 1_000_000n);
}

function lifeMs({ ttlS }: PlannedCommand): number {
  return ttlS > 0 ? ttlS * 1_000 : DELIVERY_MS;
}

const TYPES = {
  '/imu': 'sensor_msgs/msg/Imu',
  '/odom': 'nav_msgs/msg/Odometry',
  '/scan': 'sensor_msgs/msg/LaserScan',
} as const;

function commandBody({ id, interface: kind, ttlS }: PlannedCommand): Record<string, unknown> {
  switch (kind) {
    case 'topic': {
      const payload = { data: String(id) };
      return { interface: kind, name: '/probe/note', type: 'std_msgs/msg/String', payload, ttl_s: ttlS, timeout_s: 5 };
    }
    case 'service': {
      const type = 'example_interfaces/srv/AddTwoInts';
      return {
        interface: kind,
        name: '/probe/add',
        type,
        payload: { a: id, b: (id / 10) % 2 === 0 ? 0 : id % 400 },
        ttl_s: ttlS,
        timeout_s: 5,
      };
    }
    case 'action_send_goal': {
      const type = 'example_interfaces/action/Fibonacci';
      return { interface: kind, name: '/probe/goal', type, payload: { order: id }, ttl_s: ttlS, timeout_s: 10 };
    }
  }
}
