import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { downMessage } from './down.js';
import { LINK_VERSION } from './protocol.js';
import { upMessage } from './up.js';

/** The wire at each version, as a hash of its JSON Schema. */
const WIRE_HASH_BY_VERSION: Record<number, string> = {
  1: '5bd9ea86bf8f4962',
  2: '82be78c810602fa3',
  3: 'd2da9f3f2af85acc',
  4: '1239dc834f4fdb51',
  5: '723136aaf7647582',
};

it('has a wire that changes only together with LINK_VERSION (raise it, add its hash here and its line in protocol.ts)', () => {
  const schemas = [upMessage, downMessage].map((schema) =>
    z.toJSONSchema(schema, { unrepresentable: 'any', io: 'output' }),
  );
  const hash = createHash('sha256').update(JSON.stringify(schemas)).digest('hex').slice(0, 16);
  expect(hash).toBe(WIRE_HASH_BY_VERSION[LINK_VERSION]);
});
