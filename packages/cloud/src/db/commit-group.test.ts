import { CompiledQuery } from 'kysely';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tempDir } from '../testing/cloud.js';
import { commitsIn } from '../testing/commits.js';
import { CommitGroup, PATIENCE_MS } from './commit-group.js';
import { openStore, type Store, type Tx } from './store.js';

describe('a commit group', () => {
  let dir: ReturnType<typeof tempDir>;
  let store: Store;
  let group: CommitGroup;
  let before: number;

  beforeEach(() => {
    dir = tempDir();
    store = openStore({ dataDir: dir.path, nowMs: 0 });
    group = new CommitGroup(store);
    before = commitsIn(dir.path);
  });

  afterEach(async () => {
    await group.settled();
    await store.close();
    dir.remove();
  });

  const commits = () => commitsIn(dir.path) - before;
  const add = (name: string) => async (tx: Tx) => {
    await tx.insertInto('tenants').values({ uuid: name, name, created_at_ms: 0 }).execute();
    return name;
  };
  const names = async () =>
    (await store.db.selectFrom('tenants').select('name').orderBy('key').execute()).map((row) => row.name);

  it('commits once what is asked for in one turn, and answers each with its own, in order', async () => {
    const heard: string[] = [];
    const wanted = Array.from({ length: 32 }, (_, at) => `tenant ${at}`);
    const answers = await Promise.all(wanted.map((name) => group.run(add(name), (done) => heard.push(done))));
    expect(commits()).toBe(1);
    expect([answers, heard, await names()]).toEqual([wanted, wanted, wanted]);
  });

  it('takes no more statements for one by itself than its own, and the transaction', async () => {
    const asked: string[] = [];
    await store.exclusive((raw) => {
      const prepare = raw.prepare.bind(raw);
      raw.prepare = ((sql: string) => {
        asked.push(sql.split(' ')[0] ?? '');
        return prepare(sql);
      }) as typeof raw.prepare;
    });
    await group.run(add('one'));
    expect(asked).toEqual(['begin', 'insert', 'commit']);
    await expect(group.run(add('one'))).rejects.toThrow('UNIQUE');
    expect(await names()).toEqual(['one']);
  });

  it('answers when that is committed, not before', async () => {
    let committed = 0;
    await Promise.all([
      group.run(add('one'), () => (committed = commits())),
      group.run(async (tx) => {
        await add('two')(tx);
        expect(commits()).toBe(0);
      }),
    ]);
    expect(committed).toBe(1);
  });

  it('undoes one that fails, with what it wrote, and keeps its neighbours', async () => {
    const fails = async (tx: Tx) => {
      await add('undone')(tx);
      throw new Error('as it happens');
    };
    const answers = await Promise.allSettled([group.run(add('one')), group.run(fails), group.run(add('three'))]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['one', 'three']);
    expect(commits()).toBe(1);
  });

  it('fails all of them where the store takes nothing, and goes on afterwards', async () => {
    const full = async () => {
      throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    };
    const answers = await Promise.allSettled([group.run(add('one')), group.run(full), group.run(add('three'))]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await names()).toEqual([]);
    expect(await group.run(add('later'))).toBe('later');
  });

  it('fails with the store’s error also what one had found of a neighbour that is undone with it', async () => {
    const finds = async (tx: Tx) => {
      if (await tx.selectFrom('tenants').selectAll().executeTakeFirst()) throw new RangeError('there is one already');
    };
    const full = async () => {
      throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    };
    const answers = await Promise.allSettled([group.run(add('one')), group.run(finds), group.run(full)]);
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.code)).toEqual(
      Array(3).fill('SQLITE_FULL'),
    );
  });

  it('says that the store is broken where its file is, not that there was nothing to roll back to', async () => {
    const corrupt = async (tx: Tx) => {
      await tx.executeQuery(CompiledQuery.raw('rollback'));
      throw Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });
    };
    await expect(group.run(corrupt)).rejects.toMatchObject({ code: 'SQLITE_CORRUPT' });
    expect(await group.run(add('later'))).toBe('later');
  });

  it('goes on where one that hears of its commit fails over it', async () => {
    const fails = () => {
      throw new RangeError('a defect');
    };
    const answers = await Promise.allSettled([group.run(add('one'), fails), group.run(add('two'))]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await group.run(add('later'))).toBe('later');
    expect(await names()).toEqual(['one', 'two', 'later']);
  });

  describe('of what nobody waits for', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    async function turns(): Promise<void> {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }

    it('takes it along with the next that is in a hurry, before it, some turns later', async () => {
      const later = group.runLater(add('patient'));
      await turns();
      expect(commits()).toBe(0);
      await group.run(add('hasty'));
      expect([await later, commits(), await names()]).toEqual(['patient', 1, ['patient', 'hasty']]);
    });

    it('writes it by itself in time, where nothing else comes', async () => {
      const later = group.runLater(add('patient'));
      await turns();
      vi.advanceTimersByTime(PATIENCE_MS);
      expect([await later, commits()]).toEqual(['patient', 1]);
    });

    it('lets no more of it gather than does not hold up the others, and writes that together', async () => {
      await Promise.all(Array.from({ length: 32 }, (_, at) => group.runLater(add(`tenant ${at}`))));
      expect(commits()).toBe(1);
    });
  });

  it('has written all when it is settled', async () => {
    void group.runLater(add('patient'));
    await group.settled();
    expect(await names()).toEqual(['patient']);
  });
});
