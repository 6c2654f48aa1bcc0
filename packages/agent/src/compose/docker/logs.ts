import type { Readable } from 'node:stream';
import { ANSWER_LENGTH_MAX } from '@drover/shared/link/answers';
import type { ComposeLogsAnswer } from '@drover/shared/link/compose-answers';
import type Docker from 'dockerode';
import type { Container } from './container.js';
import type { Engine } from './engine.js';

const CONTAINERS_MAX = 100;
/** Characters of a line; what is longer is cut. */
const LINE_LENGTH_MAX = 16 * 1024;
/** Characters of all lines as JSON: room is left for what is around them. */
const LENGTH_MAX = 0.9 * ANSWER_LENGTH_MAX;
const LINE_OVERHEAD = 100;
/** What a deployment that failed shows of each container at fault. */
const LAST_LINES = 20;
const LAST_LINES_LENGTH_MAX = 64 * 1024;
/** An engine that stops in the middle gives what it has given by then. */
const READ_MS_MAX = 6_000;

type Line = ComposeLogsAnswer['containers'][number]['lines'][number];

/** The project has no such service. */
export class UnknownServiceError extends Error {
  override readonly name = 'UnknownServiceError';
}

/**
 * The last lines that the containers of a service wrote, as far as the engine keeps them.
 * @param containers of the project, those that are ours.
 * @param tail lines of each container; fewer where they would be more than an answer may hold, the newest then.
 * @throws UnknownServiceError, EngineUnavailableError, EngineRefusedError (a logging driver that can't be read)
 */
export async function readLogs(
  engine: Engine,
  containers: readonly Container[],
  { service, tail }: { readonly service: string; readonly tail: number },
): Promise<ComposeLogsAnswer> {
  const wanted = containers.filter((container) => container.service === service).slice(0, CONTAINERS_MAX);
  if (wanted.length === 0) {
    const names = [...new Set(containers.map((container) => container.service))].join(', ');
    throw new UnknownServiceError(
      `no container of a service ${service} is here; ${names === '' ? 'nothing is deployed' : `there are: ${names}`}`,
    );
  }
  const lengthMax = LENGTH_MAX / wanted.length;
  const found: ComposeLogsAnswer['containers'] = [];
  // One after another: each is a bounded piece of memory.
  for (const { id, name } of wanted) {
    const lines = await engine.look((docker) => linesOf(docker, id, tail, lengthMax));
    found.push({ container: name, lines });
  }
  return { containers: found };
}

/** The end of what a container wrote, both outputs, as text; empty where it can't be had. */
export async function lastLines(engine: Engine, container: string): Promise<string> {
  try {
    const lines = await engine.look((docker) => linesOf(docker, container, LAST_LINES, LAST_LINES_LENGTH_MAX));
    return lines.map(({ text }) => `${text}\n`).join('');
  } catch {
    return '';
  }
}

async function linesOf(docker: Docker, id: string, tail: number, lengthMax: number): Promise<Line[]> {
  const { Config: config } = await docker.getContainer(id).inspect();
  const kept = new Tail(tail, lengthMax);
  const stream = await open(docker, id, tail);
  const timer = setTimeout(() => stream.destroy(), READ_MS_MAX);
  try {
    for await (const { stream: name, text } of config.Tty ? plain(stream) : framed(stream)) kept.add(name, text);
  } catch (error) {
    // Ours, at the end of the time.
    if (!stream.destroyed) throw error;
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
  return kept.lines();
}

/** Dockerode's own call keeps all of it in memory. */
function open(docker: Docker, id: string, tail: number): Promise<Readable> {
  const call = {
    path: `/containers/${encodeURIComponent(id)}/logs?`,
    method: 'GET',
    isStream: true,
    statusCodes: { 200: true, 404: 'no such container', 500: 'server error' },
    options: { stdout: true, stderr: true, timestamps: true, tail },
  };
  return new Promise((resolve, reject) => {
    docker.modem.dial(call, (error: unknown, stream: unknown) => (error ? reject(error) : resolve(stream as Readable)));
  });
}

interface Piece {
  readonly stream: Line['stream'];
  /** Ends with a line break, or goes on in the next piece of the same stream. */
  readonly text: string;
}

const HEADER_BYTES = 8;
/** The engine cuts what is longer itself; more is no frame. */
const FRAME_BYTES_MAX = 1024 * 1024;

/** The two outputs apart: each frame has a header of stream (1, 2), three zeros and its length. */
async function* framed(stream: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.byteLength >= HEADER_BYTES) {
      const length = rest.readUInt32BE(4);
      if (length > FRAME_BYTES_MAX) throw new Error(`a frame of ${length} bytes in the engine's logs`);
      if (rest.byteLength < HEADER_BYTES + length) break;
      const text = rest.toString('utf8', HEADER_BYTES, HEADER_BYTES + length);
      yield { stream: rest[0] === 2 ? 'stderr' : 'stdout', text };
      rest = rest.subarray(HEADER_BYTES + length);
    }
  }
}

/** A terminal has one output, without frames. */
async function* plain(stream: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = (lines.pop() ?? '').slice(0, FRAME_BYTES_MAX);
    for (const line of lines) yield { stream: 'stdout', text: `${line}\n` };
  }
  if (rest !== '') yield { stream: 'stdout', text: `${rest}\n` };
}

/** The last lines, so many, and no longer together than a bound. */
class Tail {
  readonly #linesMax: number;
  readonly #lengthMax: number;
  readonly #lines: { line: Line; length: number }[] = [];
  readonly #begun: Partial<Record<Line['stream'], Line>> = {};
  #length = 0;

  constructor(linesMax: number, lengthMax: number) {
    this.#linesMax = linesMax;
    this.#lengthMax = lengthMax;
  }

  add(stream: Line['stream'], text: string): void {
    const piece = /^(\d{4}-\d\d-\d\dT\S+) ([\s\S]*)$/.exec(text);
    const stamp = piece?.[1] ?? null;
    const said = piece?.[2] ?? text;
    const begun = this.#begun[stream] ?? { stamp, stream, text: '' };
    const room = Math.max(LINE_LENGTH_MAX - begun.text.length, 0);
    const line = { ...begun, text: begun.text + said.replace(/\r?\n$/, '').slice(0, room) };
    if (said.endsWith('\n')) {
      delete this.#begun[stream];
      this.#push(line);
    } else this.#begun[stream] = line;
  }

  lines(): Line[] {
    for (const line of Object.values(this.#begun)) this.#push(line);
    return this.#lines.map(({ line }) => line);
  }

  #push(line: Line): void {
    const length = JSON.stringify(line.text).length + LINE_OVERHEAD;
    this.#lines.push({ line, length });
    this.#length += length;
    while (this.#lines.length > this.#linesMax || (this.#length > this.#lengthMax && this.#lines.length > 0)) {
      this.#length -= this.#lines.shift()?.length ?? 0;
    }
  }
}
