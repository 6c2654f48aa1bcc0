import { z } from 'zod';

/** What an API key may do: a resource and how. */
export const scope = z.enum([
  'robots:read',
  'robots:write',
  'commands:read',
  'commands:write',
  'data:read',
  'data:write',
  'compose-files:read',
  'compose-files:write',
  'keys:read',
  'keys:write',
]);
export type Scope = z.infer<typeof scope>;

/** Full access. */
export const ALL_SCOPES: readonly Scope[] = scope.options;

/** Header that carries the API key. */
export const API_KEY_HEADER = 'svc-api-key';
