import { z } from 'zod';
import { robotComposeErrorCode, robotComposeState } from '../api/compose.js';
import { epochMs, listOf, uuid } from './fields.js';

/** A version of a compose file. */
export const composeVersion = z.object({ id: z.string().max(64), version: z.int().positive() });
export type ComposeVersion = z.infer<typeof composeVersion>;

/** What the robot is doing about its compose file now. */
export const composePhase = z.enum([
  /** Nothing: the state is the last word. */
  'idle',
  /** The robot's own programs hold the update lock. */
  'held',
  /** The document is looked at: compose, then the robot's policy. */
  'checking',
  'pulling',
  /** Containers are made, replaced and started. */
  'starting',
  /** All are started; they must become healthy. */
  'watching',
  /** The version failed; the last good one is brought back. */
  'rolling_back',
  'stopping',
]);
export type ComposePhase = z.infer<typeof composePhase>;

export const composeImage = z.object({
  image: z.string().max(1024),
  state: z.enum(['waiting', 'pulling', 'present', 'failed']),
  /** 0..100; null where the registry has not told the size yet. */
  percent: z.number().min(0).max(100).nullable(),
  message: z.string().max(1024).nullable(),
});
export type ComposeImage = z.infer<typeof composeImage>;

/** One container of the project. */
export const composeService = z.object({
  service: z.string().max(256),
  container: z.string().max(256),
  image: z.string().max(1024),
  /** The engine's word: created, running, restarting, exited, paused, dead, removing. */
  state: z.string().max(32),
  /** The engine's word: starting, healthy, unhealthy; null = the service has no healthcheck. */
  health: z.string().max(32).nullable(),
  /** Where it has ended. */
  exit_code: z.int().nullable(),
  /** Since when it is in that state, by the engine's clock, which is the robot's; null = the engine does not say. */
  since_robot_ms: epochMs.nullable(),
  restarts: z.int().nonnegative(),
});
export type ComposeService = z.infer<typeof composeService>;

export const COMPOSE_IMAGES_MAX = 500;
export const COMPOSE_SERVICES_MAX = 1000;
/** Characters of the engine's own words. */
export const COMPOSE_WORDS_MAX = 16 * 1024;

/** Up (to clouds of version 5 and later): how the robot stands with its compose file, whole each time. */
export const composeStatus = z.object({
  kind: z.literal('compose_status'),
  /** The assignment or removal that `state` is of, as the desired state named it. */
  assignment: uuid,
  state: robotComposeState,
  error_code: robotComposeErrorCode.nullable(),
  error_message: z.string().max(4096).nullable(),
  phase: composePhase,
  /** What runs: the last version that was healthy, or is being kept; null = nothing. */
  running: composeVersion.nullable(),
  /** The version that failed last under this assignment. */
  failed: composeVersion
    .extend({ error_code: robotComposeErrorCode, message: z.string().max(4096), at_robot_ms: epochMs })
    .nullable(),
  images: listOf(composeImage, COMPOSE_IMAGES_MAX),
  services: listOf(composeService, COMPOSE_SERVICES_MAX),
  /** The tail of what docker and compose said when it went wrong. */
  engine_words: z.string().max(COMPOSE_WORDS_MAX).nullable(),
  /** Who holds the update lock, as the lock file says; null = it is free. */
  held_by: z.string().max(256).nullable(),
});
export type ComposeStatus = z.infer<typeof composeStatus>;
