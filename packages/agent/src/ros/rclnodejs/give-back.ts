import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Smaller ones cost less to be collected than to be given back. */
export const GIVEN_BACK_BYTES_MIN = 64 * 1024;

let closed: MessagePort | undefined;

/**
 * Gives back the memory of a large message that is of no use, which is empty afterwards. V8 counts such memory but sees a small object:
 * left to it, tens of megabytes gather until it looks through the whole heap for them, every few seconds where images come.
 * What is transferred to a closed port leaves its owner and goes nowhere; Node 20 has no ArrayBuffer.transfer.
 */
export function giveBack({ buffer, byteLength }: Uint8Array): void {
  // Not what shares its memory with others.
  if (byteLength < GIVEN_BACK_BYTES_MIN || byteLength !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  closed ??= closedPort();
  try {
    closed.postMessage(null, [buffer]);
  } catch {
    // Not to be transferred, which newer versions of Node throw for: it is left to V8.
  }
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
