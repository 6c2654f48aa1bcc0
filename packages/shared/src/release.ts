/**
 * The release's date, reported by every agent as `agent_version`. It names the build; what two builds can say to
 * each other is the link's version (link/protocol.ts), which changes on its own schedule.
 */
export const RELEASE_DATE = '2026-11-21';
