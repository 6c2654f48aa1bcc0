import type { Socket } from 'node:net';

export interface AdmissionBounds {
  /** Upgrade requests whose token is being looked up: some milliseconds each, unless the store takes its time. */
  readonly lookUpsMax: number;
  /** Robots between their upgrade and the end of their opening. With robots 200 ms away, still 600 a second. */
  readonly openingMax: number;
  /** Upgrade requests that wait for one of these places: as many as are opened before `waitMaxMs`. */
  readonly waitingMax: number;
  /** One that has waited so long is refused as well: agents give up 10 s after they called. */
  readonly waitMaxMs: number;
  /** A robot that has not said hello for so long after its upgrade gives its place away: it may be far, or say none. */
  readonly silentMaxMs: number;
}

const BOUNDS: AdmissionBounds = {
  ...{ lookUpsMax: 500, openingMax: 200, waitingMax: 1_000 },
  ...{ waitMaxMs: 5_000, silentMaxMs: 1_000 },
};

/** Those who wait, and those who are silent, are looked at this often. */
const LOOK_MS = 250;

/** So many openings begin in one turn of the event loop: they share their transactions, and all else waits for them. */
const OPENINGS_A_TURN = 32;

/**
 * Openings are put off while callers come, whoever they are, but no longer than this. Node accepts one connection a turn of the event loop, so short turns
 * are what empties the kernel's line, in which API clients stand as well.
 */
const GATHERING_MAX_MS = 50;

/** Who is refused comes again no sooner, and no later, than this. */
const RETRY_AFTER_MS = { least: 2_000, most: 60_000 };

/** Robots opened in a second: taken for it until it is known, and the bounds of what is believed. */
const RATE = { first: 400, least: 50, most: 2_000 };
/** It is measured over so long, in which there were always some waiting. */
const RATE_MS = 1_000;

/** One of the places in which robots are opened. */
export interface Place {
  /** The robot has said hello: from now on it is ours to be quick, and the place is kept until `leave`. */
  greeted(): void;
  /** All that its session begins with is done: what the pace of openings is told by. */
  opened(): void;
  /** The opening is over, one way or the other; again is nothing. */
  leave(): void;
}

/** Who has been looked up: what is called when it is the robot's turn, or when it has to come again. */
export interface Caller {
  readonly robotKey: number;
  readonly open: (place: Place) => void;
  readonly refuse: (retryAfterS: number) => void;
}

interface Waiting {
  caller: Caller;
  stopWatching: () => void;
  readonly sinceMs: number;
}

/**
 * How many robots are opened at once. After a restart of the cloud all of them come within seconds, each with a time after which it gives
 * up and comes again: were all taken at once, none would be done in that time, and the work for those that had given up would keep the
 * others waiting. So a number is being opened, some wait in the order in which they came, and the rest are told to come later, before
 * more is done for them than to look up who they are. That comes first: whoever has no valid token takes no place, not even in the line.
 * What is opened at once is also what anybody else's request has to wait for.
 *
 * However often one robot calls, it takes no more of this than others: it stands in the line once, has one place in which it says
 * nothing, and is told one time to come.
 */
export class Admission {
  readonly #bounds: AdmissionBounds;
  readonly #monotonicNow: () => number;
  readonly #onRefused: () => void;
  /** Places taken: since when, and whether by one that may lose it. In the order in which they were taken. */
  readonly #places = new Map<Place, { sinceMs: number; isSilent: boolean }>();
  /** By robot, in the order in which they came. */
  readonly #waiting = new Map<number, Waiting>();
  /** By robot: the place of one that has said no hello yet. */
  readonly #silent = new Map<number, Place>();
  /** By robot: the moment that it was told to come at, where that is still to come. */
  readonly #told = new Map<number, number>();
  #lookUps = 0;
  #isStopped = false;
  /** How many are opened in a second while some wait, the time of gathering left out as far as it is; and what it is being measured by. */
  #rate: number = RATE.first;
  #measured = { fromMs: 0, opened: 0, gatheringMs: 0 };
  /** The moment that the last one who was refused was told to come at. */
  #lastComesMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isTurning = false;
  /** Callers so far. */
  #came = 0;

  constructor(options: { monotonicNow: () => number; onRefused: () => void; bounds?: Partial<AdmissionBounds> }) {
    this.#bounds = { ...BOUNDS, ...options.bounds };
    this.#monotonicNow = options.monotonicNow;
    this.#onRefused = options.onRefused;
  }

  /**
   * Lets the caller that `lookUp` yields open as soon as there is a place, or refuses it, or neither where the socket goes before, or
   * where `lookUp` yields nothing since it has answered by itself. Rejects as it does. `refuse` is for one that is not looked up.
   */
  async enter(
    socket: Socket,
    lookUp: () => Promise<Caller | undefined>,
    refuse: (retryAfterS: number) => void,
  ): Promise<void> {
    this.#came += 1;
    if (this.#lookUps >= this.#bounds.lookUpsMax) return this.#refuse(refuse);
    this.#lookUps += 1;
    const caller = await lookUp().finally(() => {
      this.#lookUps -= 1;
    });
    if (!caller || socket.destroyed) return;
    const { robotKey } = caller;
    const earlier = this.#waiting.get(robotKey);
    if (earlier) {
      // It has called again, for whatever reason: the newest counts, in the same place of the line.
      earlier.stopWatching();
      this.#onRefused();
      earlier.caller.refuse(RETRY_AFTER_MS.least / 1000);
      earlier.caller = caller;
      earlier.stopWatching = this.#watch(socket, robotKey);
      return;
    }
    if (this.#isStopped || this.#isFull()) return this.#refuse(caller.refuse, robotKey);
    this.#wait(socket, caller);
  }

  /** Who is to get a place that is free stands in line as well until the others are gathered. */
  #isFull(): boolean {
    const free = Math.max(0, this.#bounds.openingMax - this.#places.size);
    return this.#waiting.size >= this.#bounds.waitingMax + free;
  }

  #watch(socket: Socket, robotKey: number): () => void {
    return whenGone(socket, () => this.#waiting.delete(robotKey));
  }

  #wait(socket: Socket, caller: Caller): void {
    const sinceMs = this.#monotonicNow();
    const stopWatching = this.#watch(socket, caller.robotKey);
    this.#waiting.set(caller.robotKey, { caller, sinceMs, stopWatching });
    this.#next();
    if (this.#timer) return;
    this.#measured = { fromMs: sinceMs, opened: 0, gatheringMs: 0 };
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Refuses those who wait. */
  stop(): void {
    this.#isStopped = true;
    for (const waiting of this.#waiting.values()) this.#turnAway(waiting);
    clearInterval(this.#timer);
  }

  #take(robotKey: number): Place {
    const held = { sinceMs: this.#monotonicNow(), isSilent: true };
    const heard = () => {
      held.isSilent = false;
      if (this.#silent.get(robotKey) === place) this.#silent.delete(robotKey);
    };
    const place: Place = {
      greeted: heard,
      opened: () => {
        this.#measured.opened += 1;
      },
      leave: () => {
        heard();
        if (this.#places.delete(place)) this.#next();
      },
    };
    this.#silent.get(robotKey)?.leave();
    this.#silent.set(robotKey, place);
    this.#told.delete(robotKey);
    this.#places.set(place, held);
    return place;
  }

  /** Begins openings when nobody came in the turn before, or none was begun for long enough, while some wait and there are places. */
  #next(): void {
    if (this.#isTurning || this.#waiting.size === 0 || this.#places.size >= this.#bounds.openingMax) return;
    this.#isTurning = true;
    const sinceMs = this.#monotonicNow();
    let came = -1;
    const look = () => {
      const gatheringMs = this.#monotonicNow() - sinceMs;
      if (this.#came !== came && gatheringMs < GATHERING_MAX_MS) {
        came = this.#came;
        setImmediate(look);
        return;
      }
      this.#measured.gatheringMs += gatheringMs;
      this.#isTurning = false;
      this.#turn();
      this.#next();
    };
    setImmediate(look);
  }

  #turn(): void {
    let begun = 0;
    for (const [robotKey, { caller, stopWatching }] of this.#waiting) {
      if (begun === OPENINGS_A_TURN || this.#places.size >= this.#bounds.openingMax) return;
      this.#waiting.delete(robotKey);
      stopWatching();
      caller.open(this.#take(robotKey));
      begun += 1;
    }
  }

  #look(): void {
    const nowMs = this.#monotonicNow();
    for (const waiting of this.#waiting.values()) {
      if (nowMs - waiting.sinceMs < this.#bounds.waitMaxMs) break;
      this.#turnAway(waiting);
    }
    for (const [place, { sinceMs, isSilent }] of [...this.#places]) {
      if (isSilent && nowMs - sinceMs >= this.#bounds.silentMaxMs) place.leave();
    }
    this.#measure(nowMs);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #turnAway(waiting: Waiting): void {
    this.#waiting.delete(waiting.caller.robotKey);
    waiting.stopWatching();
    this.#refuse(waiting.caller.refuse, waiting.caller.robotKey);
  }

  #measure(nowMs: number): void {
    const ms = nowMs - this.#measured.fromMs;
    if (ms < RATE_MS) return;
    // Those who are told a time come when fewer call, and little time goes into gathering.
    const openingMs = Math.max(ms - this.#measured.gatheringMs, ms / 4);
    const rate = (this.#rate + (this.#measured.opened * 1000) / openingMs) / 2;
    this.#rate = Math.min(RATE.most, Math.max(RATE.least, rate));
    this.#measured = { fromMs: nowMs, opened: 0, gatheringMs: 0 };
  }

  /** Each one is told a moment after the one before, so that they come again at the pace at which they can be opened. */
  #refuse(refuse: (retryAfterS: number) => void, robotKey?: number): void {
    this.#onRefused();
    const nowMs = this.#monotonicNow();
    const toldMs = robotKey === undefined ? undefined : this.#told.get(robotKey);
    if (toldMs !== undefined && toldMs > nowMs) {
      refuse(Math.ceil((toldMs - nowMs) / 1000));
      return;
    }
    const comesMs = Math.max(this.#lastComesMs + 1000 / this.#rate, nowMs + RETRY_AFTER_MS.least);
    this.#lastComesMs = Math.min(comesMs, nowMs + RETRY_AFTER_MS.most);
    if (robotKey !== undefined) this.#tell(robotKey, nowMs);
    refuse(Math.ceil((this.#lastComesMs - nowMs) / 1000));
  }

  /** Keeps that the robot was told the last of all moments, and forgets those that are over. */
  #tell(robotKey: number, nowMs: number): void {
    for (const [other, comesMs] of this.#told) {
      if (comesMs > nowMs) break;
      this.#told.delete(other);
    }
    this.#told.delete(robotKey);
    this.#told.set(robotKey, this.#lastComesMs);
  }
}

/**
 * Calls `gone` when the peer has left a socket that nobody reads yet: by an error, or by the end of what it says. Returns what ends
 * the watch, and leaves what came unread.
 */
function whenGone(socket: Socket, gone: () => void): () => void {
  const stop = () => {
    socket.off('readable', look);
    socket.off('close', left);
  };
  const left = () => {
    stop();
    gone();
    socket.destroy();
  };
  // At the end of the stream there is something to read as well: nothing.
  const look = () => {
    if (socket.readableLength === 0) left();
  };
  socket.on('readable', look);
  socket.on('close', left);
  return stop;
}
