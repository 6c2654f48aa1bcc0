import { describe, expect, it } from 'vitest';
import { PullProgress } from './pull.js';

function read(lines: readonly object[]): PullProgress {
  const progress = new PullProgress();
  for (const line of lines) progress.read(JSON.stringify(line));
  return progress;
}
const loading = (id: string, current: number, total: number) => ({
  id,
  status: 'Downloading',
  progressDetail: { current, total },
});

describe('the progress of a pull', () => {
  it('is not known before the registry has told a size', () => {
    expect(read([{ id: 'a', status: 'Pulling fs layer' }]).percent).toBeNull();
  });

  it('is the part of all bytes that are here, layers that have not begun guessed', () => {
    const begun = [loading('a', 0, 100), loading('b', 0, 300)];
    expect(read([...begun, loading('a', 100, 100)]).percent).toBe(25);
    expect(read([{ id: 'b', status: 'Pulling fs layer' }, loading('a', 50, 100)]).percent).toBe(25);
  });

  it('never goes back, nor is it 100 before all is unpacked', () => {
    const progress = read([loading('a', 100, 100)]);
    expect(progress.percent).toBe(99);
    progress.read(JSON.stringify(loading('b', 0, 1000)));
    expect(progress.percent).toBe(99);
  });

  it("gives the engine's words where it has failed, and passes over what is no progress", () => {
    const progress = new PullProgress();
    expect(progress.read('{"error":"unauthorized","errorDetail":{}}')).toBe('unauthorized');
    expect(progress.read('no json')).toBeNull();
    expect(progress.read('{"status":"Pulling from library/x","id":"latest"}')).toBeNull();
  });
});
