import type { RosSource } from './graph.js';

/**
 * Watches over what is handled in native code, where a fault ends the whole process: whoever hands something to ROS says
 * so first, and is refused what has ended the process too often.
 */
export interface NativeGuard {
  /** @throws QuarantinedError where the source must not be touched. */
  admit(source: RosSource): Admitted;
}

/** A source that may be handled. Costs so little that it is used around every single call. */
export interface Admitted {
  /** Runs `work`, synchronous calls into native code for this source. Returns and throws what `work` does. */
  during<T>(work: () => T): T;
  /** Work of this source is under way from now on, in native code or at a peer, until what is returned is called. */
  begin(): () => void;
}

/** Lets everything through and notes nothing. */
export const UNGUARDED: NativeGuard = {
  admit: () => ({ during: (work) => work(), begin: () => () => {} }),
};
