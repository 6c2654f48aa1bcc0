import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DataDirBusyError, lockDataDir } from '../disk/instance-lock.js';
import type { Finding } from './check.js';

/**
 * Whether an agent works in the data directory now. There is no asking who holds the lock, only trying it: it is given
 * back at once, and never made, since doctor may run as another user.
 */
export async function checkRunningAgent(dataDir: string): Promise<readonly Finding[]> {
  const none: Finding = { status: 'ok', message: `none runs in ${dataDir} now` };
  if (!existsSync(join(dataDir, 'agent.lock'))) return [none];
  try {
    lockDataDir(dataDir)();
    return [none];
  } catch (error) {
    if (!(error instanceof DataDirBusyError)) throw error;
    return [{ status: 'ok', message: `running in ${dataDir}; a second one there would refuse to start` }];
  }
}
