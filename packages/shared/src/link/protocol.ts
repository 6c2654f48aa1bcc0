/**
 * The agent link: one websocket a robot, opened by the agent at LINK_PATH with `Authorization: Bearer <robot token>`
 * and the subprotocol LINK_SUBPROTOCOL, carrying binary MessagePack frames (codec.ts).
 *
 * A wire message only grows: new fields are optional, new kinds are refused by older peers with CloseCode.badMessage.
 * Raise LINK_VERSION with every change of the schemas (protocol.test.ts hashes them) and add a line here:
 *
 *   1  2026-11-21  first version
 *   2  2026-11-21  up: stream_status, answer; down: query (only to agents of version 2 and later);
 *                  desired: streams' max_age_s
 *   3  2026-11-21  up: link_status (only to clouds of version 3 and later), stream_status' spool_id; hello's
 *                  inbox.robot_id and inbox.lineage, inbox_version of command_taken and command_outcome,
 *                  welcome's inbox and robot_uid, hello's inbox.robot_uid; hello's spool.first_seq
 *   4  2026-11-21  link_status' spool.storage
 *   5  2026-11-21  up: compose_status (only to clouds of version 5 and later); down: desired's compose.assignment,
 *                  compose.override_lock and compose_removal, questions about compose (only to agents of
 *                  version 5 and later)
 */
export const LINK_VERSION = 5;

/** The oldest agent still served: the first version, since none has been retired yet. */
export const LINK_VERSION_OLDEST = 1;

/** The first version that knows compose_status, assignments' ids and the questions about compose, on either side. */
export const COMPOSE_SINCE_VERSION = 5;

/** The oldest cloud that today's agent speaks with, by the version that its hello then says: the first to know stream_status. */
export const LINK_VERSION_OLDEST_CLOUD = 2;

export const LINK_PATH = '/agent';
export const LINK_SUBPROTOCOL = 'drover.v1';

/**
 * Sent (with any value) in the upgrade request of an agent whose last session was replaced: it wants a session only
 * while no other is connected, and is answered 409 where one is.
 */
export const YIELD_HEADER = 'drover-yield';

/** A frame holds at most this many bytes, so that a ping or a command never waits long behind one on a slow link. */
export const FRAME_BYTES_MAX = 16 * 1024;

/** A sender cuts messages no smaller than this, however slow its link is. */
export const FRAME_BYTES_MIN = 1024;

/** A message (put together from its parts) holds at most this many bytes: the largest stream message and its envelope. */
export const MESSAGE_BYTES_MAX = 24 * 1024 * 1024;

/** The largest message of a stream that can travel; the rest is for its envelope. */
export const STREAM_MESSAGE_BYTES_MAX = MESSAGE_BYTES_MAX - 256 * 1024;

/** A session that has not said hello within this time is closed. */
export const HELLO_TIMEOUT_MS = 10_000;

/** Both sides ping this often; any byte received counts as alive. */
export const PING_INTERVAL_MS = 8_000;

/** Silence longer than this means the peer is gone: two pings and some patience, under the 25 s that presence promises. */
export const SILENCE_MAX_MS = 20_000;

/** Why a session was closed. 4000-4999 is the range RFC 6455 section 7.4.2 leaves to applications. */
export const CloseCode = {
  /** RFC 6455: the endpoint is going away (drain, shutdown). */
  goingAway: 1001,
  /** RFC 6455: a frame of a type we don't accept (text). */
  unsupportedData: 1003,
  /** RFC 6455: a frame or a message over its bound. */
  tooBig: 1009,
  /** RFC 6455: an unexpected condition on this side; the peer may try again. */
  internalError: 1011,
  /** A message that its schema refuses, or one out of order (before hello). */
  badMessage: 4000,
  /** No hello within HELLO_TIMEOUT_MS. */
  helloTimeout: 4001,
  /** A link version outside what this side serves. */
  unsupportedVersion: 4002,
  /** A newer session of the same robot took over. */
  replaced: 4003,
  /** The robot was deleted or its token rotated. */
  revoked: 4004,
  /** Nothing heard for SILENCE_MAX_MS. */
  silent: 4005,
} as const;
export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];
