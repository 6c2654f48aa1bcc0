import { Draw } from '../support/draw.js';

/** What a round does, drawn from its seed and nothing else: the same seed is the same plan. */

export const ROBOTS = 3;
/** How long faults come; the rest of a round is its start and the time to settle. */
export const STORM_MS = 5_000;

export type Fault =
  /** kill -9, and a new start after `forMs`. */
  | { readonly kind: 'kill'; readonly target: Process; readonly atMs: number; readonly forMs: number }
  /** SIGSTOP, and SIGCONT after `forMs`. */
  | { readonly kind: 'freeze'; readonly target: Process; readonly atMs: number; readonly forMs: number }
  | {
      readonly kind: 'cut' | 'stall' | 'forget';
      readonly target: Link;
      readonly atMs: number;
      readonly forMs: number;
    }
  /** One way only, and a reset at the end: what was said is done or stored, and the answer lost. */
  | {
      readonly kind: 'one_way';
      readonly target: Link;
      readonly atMs: number;
      readonly forMs: number;
      readonly stalled: 'up' | 'down';
    }
  | {
      readonly kind: 'half_open';
      readonly target: Link;
      readonly atMs: number;
      readonly forMs: number;
      readonly resetEnd: 'robot' | 'cloud';
    }
  | {
      readonly kind: 'slow';
      readonly target: Link;
      readonly atMs: number;
      readonly forMs: number;
      readonly bytesPerS: number;
    }
  | {
      readonly kind: 'delay';
      readonly target: Link;
      readonly atMs: number;
      readonly forMs: number;
      readonly ms: number;
    }
  /** The robot's wall clock jumps so far and stays there. */
  | {
      readonly kind: 'clock';
      readonly target: Robot;
      readonly atMs: number;
      readonly forMs: 0;
      readonly shiftMs: number;
    };

type Robot = `robot-${number}`;
type Process = 'cloud' | Robot;
type Link = `link-${number}`;
export type FaultKind = Fault['kind'];
export type LineFault = Extract<Fault, { target: Link }>;

/** A command, with a number of its own that its payload carries. */
export interface PlannedCommand {
  readonly atMs: number;
  readonly robot: number;
  readonly interface: 'topic' | 'service' | 'action_send_goal';
  /** For goals, the last digit is the number of steps they take. */
  readonly id: number;
  readonly ttlS: number;
  /** With an idempotency-key the POST is repeated until it is answered, and `repeats` times more. */
  readonly idempotent: boolean;
  readonly repeats: number;
  readonly cancelAfterMs: number | null;
}

/** A change of what a robot is to collect, beside the counters. */
export interface PlannedChange {
  readonly atMs: number;
  readonly robot: number;
  readonly source: string;
  /** 0: deleted. */
  readonly hz: number;
  readonly enabled: boolean;
}

export interface Plan {
  readonly seed: number;
  readonly faults: readonly Fault[];
  readonly commands: readonly PlannedCommand[];
  readonly changes: readonly PlannedChange[];
}

const KINDS: readonly FaultKind[] = [
  ...(['kill', 'kill', 'kill', 'freeze', 'freeze', 'cut', 'cut', 'stall', 'forget'] as const),
  ...(['one_way', 'one_way', 'half_open', 'half_open', 'slow', 'delay', 'clock'] as const),
];
/** Between two faults of one process or one link. */
const PAUSE_MS = 400;
const COMMAND_EVERY_MS = 60;
/** A command's number is of its round alone, and fits a goal's int32. */
const IDS_A_ROUND = 100_000;
const CHANGED_SOURCES = ['/imu', '/odom', '/scan'] as const;
const HOUR_MS = 3_600_000;
const CLOCK_SHIFTS_MS = [-90_000, 45_000, -3 * HOUR_MS, 400 * 24 * HOUR_MS, -20 * 365 * 24 * HOUR_MS] as const;

/** The plan of a round. */
export function planOf(seed: number): Plan {
  const draw = new Draw(seed);
  const faults = drawFaults(draw);
  return { seed, faults, commands: drawCommands(draw, seed * IDS_A_ROUND), changes: drawChanges(draw, faults) };
}

/** Whether the command with this number is of the round with this seed. */
export function isOf(seed: number, commandId: number): boolean {
  return Math.floor(commandId / IDS_A_ROUND) === seed;
}

/** In words, for the tally. */
export function faultText(fault: Fault): string {
  const more = Object.entries(fault).flatMap(([key, value]) =>
    ['kind', 'target', 'atMs', 'forMs'].includes(key) ? [] : [` ${key} ${value}`],
  );
  return `${fault.kind} ${fault.target}${more.join('')} @${fault.atMs}+${fault.forMs}`;
}

function drawFaults(draw: Draw): Fault[] {
  const faults: Fault[] = [];
  const count = draw.whole(5, 8);
  const kinds = Array.from({ length: count }, (_, at): FaultKind => (at === 0 ? 'kill' : draw.one(KINDS)));
  for (const kind of kinds) {
    // What finds no room beside the others in a few tries is left out.
    for (let tries = 0; tries < 8; tries += 1) {
      const fault = drawFault(draw, kind);
      if (faults.some((other) => collide(fault, other))) continue;
      faults.push(fault);
      break;
    }
  }
  return faults.sort((one, other) => one.atMs - other.atMs);
}

function drawFault(draw: Draw, kind: FaultKind): Fault {
  const robot = draw.whole(0, ROBOTS - 1);
  const process: Process = draw.chance(0.35) ? 'cloud' : `robot-${robot}`;
  const link: Link = `link-${robot}`;
  const forMs = draw.whole(100, 2_500);
  const atMs = draw.whole(0, STORM_MS - forMs);
  switch (kind) {
    case 'kill':
      return { kind, target: process, atMs, forMs: draw.whole(0, 800) };
    case 'freeze':
      return { kind, target: process, atMs, forMs };
    case 'cut':
    case 'stall':
    case 'forget':
      return { kind, target: link, atMs, forMs };
    case 'one_way':
      return { kind, target: link, atMs, forMs, stalled: draw.one(['up', 'down']) };
    case 'half_open':
      return { kind, target: link, atMs, forMs, resetEnd: draw.chance(0.6) ? 'robot' : 'cloud' };
    case 'slow':
      return { kind, target: link, atMs, forMs, bytesPerS: draw.one([4_000, 8_000, 16_000, 64_000]) };
    case 'delay':
      return { kind, target: link, atMs, forMs, ms: draw.whole(20, 900) };
    case 'clock':
      return { kind, target: `robot-${robot}`, atMs, forMs: 0, shiftMs: draw.one(CLOCK_SHIFTS_MS) };
  }
}

function collide(one: Fault, other: Fault): boolean {
  const apart = one.atMs > other.atMs + other.forMs + PAUSE_MS || other.atMs > one.atMs + one.forMs + PAUSE_MS;
  return one.target === other.target && !apart;
}

function drawCommands(draw: Draw, firstId: number): PlannedCommand[] {
  const commands: PlannedCommand[] = [];
  for (let atMs = 0, id = firstId; atMs < STORM_MS; atMs += draw.whole(0, 2 * COMMAND_EVERY_MS), id += 10) {
    const kind = draw.one(['topic', 'topic', 'service', 'service', 'action_send_goal', 'action_send_goal'] as const);
    const canceled = draw.chance(kind === 'action_send_goal' ? 0.4 : 0.1);
    const idempotent = draw.chance(0.4);
    commands.push({
      atMs,
      robot: draw.whole(0, ROBOTS - 1),
      interface: kind,
      id: id + (kind === 'action_send_goal' ? draw.whole(0, canceled ? 9 : 4) : 0),
      ttlS: draw.one([0, 0, 1, 3, 5]),
      idempotent,
      repeats: idempotent ? draw.whole(0, 2) : 0,
      cancelAfterMs: canceled ? draw.whole(0, 1_000) : null,
    });
  }
  return commands;
}

/** Some at any time, and one while each link or robot is away, where a lost change would hurt. */
function drawChanges(draw: Draw, faults: readonly Fault[]): PlannedChange[] {
  const change = (robot: number, atMs: number): PlannedChange => {
    const deleted = draw.chance(0.2);
    const hz = deleted ? 0 : draw.whole(1, 20);
    return { atMs: Math.round(atMs), robot, source: draw.one(CHANGED_SOURCES), hz, enabled: draw.chance(0.7) };
  };
  const changes = Array.from({ length: 4 }, () => change(draw.whole(0, ROBOTS - 1), draw.whole(0, STORM_MS)));
  for (const { target, atMs, forMs } of faults) {
    if (target !== 'cloud' && forMs > 0) changes.push(change(Number(target.slice(-1)), atMs + forMs / 2));
  }
  return changes.sort((one, other) => one.atMs - other.atMs);
}
