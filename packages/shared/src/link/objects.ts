/**
 * How many lists, maps and byte strings a MessagePack text holds (extension types count as byte strings), without decoding it. What
 * holds others is followed by them, so that one pass over the headers sees them all, however deep. What is no MessagePack
 * is counted somehow, and left to the decoder to refuse.
 */
export function countObjects(text: Uint8Array): number {
  const view = new DataView(text.buffer, text.byteOffset, text.byteLength);
  let count = 0;
  for (let at = 0; at < text.byteLength; ) {
    const head = text[at] ?? 0;
    if (isObject(head)) count += 1;
    at += 1 + sizeAfter(view, at, head);
  }
  return count;
}

/** fixmap and fixarray; bin and ext; fixext; array and map. */
function isObject(head: number): boolean {
  return (
    (head >= 0x80 && head <= 0x9f) ||
    (head >= 0xc4 && head <= 0xc9) ||
    (head >= 0xd4 && head <= 0xd8) ||
    (head >= 0xdc && head <= 0xdf)
  );
}

/** Bytes of an item after its first one, without the items that it holds. */
export function sizeAfter(view: DataView, at: number, head: number): number {
  if (head >= 0xa0 && head <= 0xbf) return head & 0x1f;
  if (head < 0xc4 || head >= 0xe0) return 0;
  const lengthBytes = LENGTH_BYTES[head];
  if (lengthBytes === undefined) return FIXED_BYTES[head] ?? 0;
  // An extension type's own byte.
  const type = head >= 0xc7 && head <= 0xc9 ? 1 : 0;
  return lengthBytes + type + lengthAt(view, at + 1, lengthBytes);
}

function lengthAt(view: DataView, at: number, bytes: number): number {
  if (at + bytes > view.byteLength) return 0;
  return bytes === 1 ? view.getUint8(at) : bytes === 2 ? view.getUint16(at) : view.getUint32(at);
}

/** bin, ext, str: so many bytes of length, then that many of content. */
const LENGTH_BYTES: Readonly<Record<number, number>> = {
  ...{ 196: 1, 197: 2, 198: 4 },
  ...{ 199: 1, 200: 2, 201: 4 },
  ...{ 217: 1, 218: 2, 219: 4 },
};

/** float, uint, int; fixext with its type; the count of array and map. */
const FIXED_BYTES: Readonly<Record<number, number>> = {
  ...{ 202: 4, 203: 8, 204: 1, 205: 2, 206: 4, 207: 8, 208: 1, 209: 2, 210: 4, 211: 8 },
  ...{ 212: 2, 213: 3, 214: 5, 215: 9, 216: 17 },
  ...{ 220: 2, 221: 4, 222: 2, 223: 4 },
};
