import { z } from 'zod';

/** Up: the agent has stored and begun to apply this revision of the desired state. */
export const applied = z.object({
  kind: z.literal('applied'),
  revision: z.int().nonnegative(),
});
export type Applied = z.infer<typeof applied>;
