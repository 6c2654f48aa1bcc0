import { createInterface } from 'node:readline';

interface Asked {
  readonly what: string;
  readonly options: never;
}

/**
 * The end of a Child in its own process: answers what it is asked, in order, and ends with its standard input.
 * @param end what must be done before the process exits
 */
export function serve(
  handlers: Readonly<Record<string, (options: never) => unknown>>,
  end: () => void = () => {},
): void {
  let last: Promise<void> = Promise.resolve();
  const input = createInterface({ input: process.stdin });
  input.on('line', (line) => {
    const { what, options } = JSON.parse(line) as Asked;
    last = last.then(async () => {
      const reply = await answer(handlers[what], options);
      process.stdout.write(`${JSON.stringify(reply)}\n`);
    });
  });
  input.once('close', () => {
    end();
    process.exit(0);
  });
}

async function answer(handler: ((options: never) => unknown) | undefined, options: never) {
  try {
    if (!handler) throw new Error('it is not asked that');
    return { result: await handler(options) };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
