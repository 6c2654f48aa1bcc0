import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isWithin } from '../../policy/path-pattern.js';

/** Of the container that the agent runs in: a directory or file of the machine, and where it is there. */
export interface OwnMount {
  readonly source: string;
  readonly destination: string;
}

/** The path with its symbolic links followed, as far as it exists; null where that can't be told. */
export function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return null;
    // A link that leads nowhere may lead somewhere by the time it is mounted.
    if (lstatSync(path, { throwIfNoEntry: false })) return null;
    const above = dirname(path);
    if (above === path) return path;
    const real = realPath(above);
    return real === null ? null : join(real, path.slice(above === '/' ? 1 : above.length + 1));
  }
}

/**
 * As realPath, of a path of the machine that the agent's container is on, followed through what the container has of it. Null for
 * all else: a link that the agent does not see may lead anywhere. In /dev links are made by the robot's own system alone.
 */
export function realPathOutside(path: string, mounts: readonly OwnMount[]): string | null {
  const mount = mounts
    .filter(({ source }) => isWithin(path, source))
    .reduce<OwnMount | null>(
      (nearest, one) => (one.source.length > (nearest?.source.length ?? -1) ? one : nearest),
      null,
    );
  if (mount !== null) {
    const rest = mount.source === '/' ? path : path.slice(mount.source.length);
    const real = realPath(`${mount.destination}${rest}`);
    const within = realPath(mount.destination);
    // A link out of it is one to the container's own files here, and to the machine's there.
    if (real === null || within === null || !isWithin(real, within)) return null;
    return join(mount.source, real.slice(within.length));
  }
  return isWithin(path, '/dev') && !isWithin(path, '/dev/shm') ? realPath(path) : null;
}
