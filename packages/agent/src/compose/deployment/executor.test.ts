import { expect, it } from 'vitest';
import { stuckContainer } from './executor.js';

it('finds the container that a killed engine can not start any more, by what it says', () => {
  const id = '6ea1d0829325babb9bcc6bb82ba1d2e3900f97fb7b31540a572bef614140bb5b';
  expect(stuckContainer(`Error response from daemon: task ${id}: already exists`)).toBe(id);
  expect(stuckContainer('Error response from daemon: network a: already exists')).toBeNull();
});
