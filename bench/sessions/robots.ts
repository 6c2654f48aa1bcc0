/** Many robots' raw sessions in one process: idle, or each with what an idle robot says (a vital, a ping, a question for the time). */
import { serve } from '../harness/serve.js';
import { RawSession } from '../links/raw-session.js';

/** Opened at once; with thousands, handshakes would time out in the queue. */
const OPENING = 50;
const TICK_MS = 20;
const VITAL_EVERY_MS = 5_000;
const PING_EVERY_MS = 8_000;
const CLOCK_EVERY_MS = 10_000;

const sessions: RawSession[] = [];
const sentSeqs: number[] = [];
let timer: NodeJS.Timeout | undefined;

serve({
  open: async ({ url, tokens }: { url: string; tokens: string[] }) => {
    const waiting = [...tokens];
    const work = async () => {
      for (let token = waiting.shift(); token !== undefined; token = waiting.shift()) {
        sessions.push(await RawSession.open(url, token));
        sentSeqs.push(0);
      }
    };
    await Promise.all(Array.from({ length: OPENING }, work));
  },
  /** Every robot its vital, ping and question, evenly over their intervals, until `rest`. */
  speak: () => {
    const startMs = performance.now();
    const turns = [
      { everyMs: VITAL_EVERY_MS, next: 0, say: vital },
      { everyMs: PING_EVERY_MS, next: 0, say: (at: number) => sessions[at]?.ping() },
      { everyMs: CLOCK_EVERY_MS, next: 0, say: askTime },
    ];
    timer = setInterval(() => {
      for (const turn of turns) {
        const due = ((performance.now() - startMs) / turn.everyMs) * sessions.length;
        for (; turn.next < due; turn.next += 1) turn.say(turn.next % sessions.length);
      }
    }, TICK_MS);
  },
  /** Resolves when all that was sent is acknowledged; with how many vitals that was, ever. */
  rest: async () => {
    clearInterval(timer);
    for (const [at, session] of sessions.entries()) await session.until(() => session.acked >= (sentSeqs[at] ?? 0));
    return sentSeqs.reduce((sum, seq) => sum + seq, 0);
  },
  ended: () => sessions.filter(({ ended }) => ended !== null).length,
});

function vital(at: number): void {
  const session = sessions[at];
  const seq = (sentSeqs[at] ?? 0) + 1;
  sentSeqs[at] = seq;
  session?.say({
    kind: 'batch',
    spool_id: session.spoolId,
    lane: 'live',
    first_seq: seq,
    clock: { offset_ms: 0.25, uncertainty_ms: 0.5 },
    schemas: [],
    channels: [],
    rows: [{ kind: 'vital', robot_stamp_ms: Date.now(), cpu: 12.5, ram: 40.25, disk: 61.5, battery: 88 }],
  });
}

function askTime(at: number): void {
  sessions[at]?.say({ kind: 'clock_request', robot_sent_ms: Date.now(), measured: null });
}
