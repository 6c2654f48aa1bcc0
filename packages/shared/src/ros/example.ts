import { convertMessage } from './conversion.js';
import type { MessageSchema } from './definitions.js';
import { layoutOf } from './layout.js';
import { toJson } from './to-json.js';

/** A message that takes more is shown as `{}`, which means the same: every field its default. */
const EXAMPLE_BYTES_MAX = 64 * 1024;
const EXAMPLE_STRUCTS_MAX = 2_000;

/** A payload of the type with every field written out, each with its default. fromJson takes it. */
export function exampleOf(schema: MessageSchema): Record<string, unknown> {
  const layout = layoutOf(schema);
  if (layout.bytesMin > EXAMPLE_BYTES_MAX || layout.structsMin > EXAMPLE_STRUCTS_MAX) return {};
  return toJson(schema, convertMessage(layout, {}, 'example')) as Record<string, unknown>;
}
