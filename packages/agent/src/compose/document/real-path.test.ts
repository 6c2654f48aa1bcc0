import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDataDir } from '../../spool/fixture.js';
import { realPath, realPathOutside } from './real-path.js';

/** What the container has of the machine's /srv: maps/, and links beside it. */
function container() {
  const destination = realpathSync(tempDataDir());
  mkdirSync(join(destination, 'maps'));
  symlinkSync('maps', join(destination, 'current'));
  symlinkSync('/etc', join(destination, 'out'));
  symlinkSync('nowhere', join(destination, 'dangling'));
  return { destination, mounts: [{ source: '/srv', destination }] };
}

it('follows links as far as the path exists, and none that leads nowhere', () => {
  const { destination } = container();
  expect(realPath(join(destination, 'current/new/map'))).toBe(join(destination, 'maps/new/map'));
  expect(realPath(join(destination, 'out'))).toBe('/etc');
  expect(realPath(join(destination, 'dangling'))).toBeNull();
});

it.each([
  ['/srv', '/srv'],
  ['/srv/maps', '/srv/maps'],
  ['/srv/current/hall', '/srv/maps/hall'],
  ['/srv/new', '/srv/new'],
  // To the machine's, which nobody sees here.
  ['/srv/out', null],
  ['/srv/out/shadow', null],
  ['/srv/dangling', null],
  // Not in the container.
  ['/data', null],
  ['/srvx', null],
  ['/', null],
  ['/dev/ttyUSB0', '/dev/ttyUSB0'],
  ['/dev/shm/link', null],
])('in a container takes %s of the machine for %s', (path, real) => {
  expect(realPathOutside(path, container().mounts)).toBe(real);
});
