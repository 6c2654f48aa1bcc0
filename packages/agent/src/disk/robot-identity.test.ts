import { expect, it } from 'vitest';
import { claimFile, type Owned, type RobotIdentity } from './robot-identity.js';

/** A file that has this owner. */
function ownedBy(first: RobotIdentity | null): Owned & { readonly now: RobotIdentity | null } {
  let now = first;
  return {
    owner: () => now,
    setOwner: (robot) => {
      now = robot;
    },
    get now() {
      return now;
    },
  };
}

const ONE = { id: 'rover-1', uid: 'tenant-a/1/1000' };
const SAME_ID = { id: 'rover-1', uid: 'tenant-b/7/2000' };
/** As a cloud says it that is older than these names. */
const NAMELESS = { id: 'rover-1', uid: null };

it('a file that is nobody’s becomes the first robot’s', () => {
  const file = ownedBy(null);
  expect(claimFile(file, ONE)).toBe(true);
  expect(file.now).toEqual(ONE);
});

it.each([
  ['of another id', { id: 'rover-2', uid: ONE.uid }],
  ['of the same id, but of another tenant, or made anew', SAME_ID],
])('a file stays its robot’s, and is not that of one %s', (_which, other) => {
  const file = ownedBy(ONE);
  expect(claimFile(file, other)).toBe(false);
  expect(file.now).toEqual(ONE);
  expect(claimFile(file, ONE)).toBe(true);
});

it('a file from before robots had unique names goes by the id, and takes the name when it is told', () => {
  const file = ownedBy(NAMELESS);
  expect(claimFile(file, NAMELESS)).toBe(true);
  expect(claimFile(file, ONE)).toBe(true);
  expect(file.now).toEqual(ONE);
  expect(claimFile(file, SAME_ID)).toBe(false);
});

it('a cloud that tells no unique name leaves the one that is known', () => {
  const file = ownedBy(ONE);
  expect(claimFile(file, NAMELESS)).toBe(true);
  expect(file.now).toEqual(ONE);
});
