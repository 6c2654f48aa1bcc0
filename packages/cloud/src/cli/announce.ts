/**
 * Lines that must reach whoever started us whatever the log level is: where we listen, a key that can't be shown again. In the
 * form of the log's lines, so that one reader takes both.
 */
export function announce(msg: string, fields: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ level: 30, time: Date.now(), ...fields, msg })}\n`);
}
