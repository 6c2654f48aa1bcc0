import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const BUSYBOX = '/bin/busybox';

/** An image of busybox alone. Its name is this test file's own: others run beside it, on the same engine. */
export const BOX = `drover-test-${randomUUID().slice(0, 8)}/box:1`;

export function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/** For tests on a Docker Engine, which has BOX while they run: skipped with the reason where none answers, failed under CI=true. */
export function describeDocker(name: string, tests: () => void): void {
  const reason = whyNone();
  if (reason === null) {
    describe(name, () => {
      beforeAll(makeBox);
      afterAll(() => void docker('rmi', '--force', BOX));
      tests();
    });
  } else if (process.env.CI === 'true') {
    it(`${name}: needs a Docker Engine`, () => expect.fail(`this must run in CI: ${reason}`));
  } else {
    describe.skip(`${name} (${reason})`, tests);
  }
}

/** Why tests on an engine can't run here; null where they can. */
function whyNone(): string | null {
  if (process.env.DROVER_TEST_DOCKER === 'off') return 'DROVER_TEST_DOCKER=off';
  const engine = says('docker', 'version', '--format', '{{.Server.Version}}');
  if (engine !== null) return `no Docker Engine answers: ${engine}`;
  if (says('docker', 'compose', 'version') !== null) return 'install the compose plugin of Docker';
  return says(BUSYBOX, '--list') === null ? null : 'install busybox-static';
}

/** What a program says where it fails; null where it does not. */
function says(program: string, ...args: string[]): string | null {
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr.trim().split('\n').at(-1) ?? '');
}

function makeBox(): void {
  const root = mkdtempSync(join(tmpdir(), 'drover-box-'));
  try {
    for (const folder of ['bin', 'tmp', 'etc']) mkdirSync(join(root, folder));
    chmodSync(join(root, 'tmp'), 0o1777);
    copyFileSync(BUSYBOX, join(root, 'bin/busybox'));
    const applets = execFileSync(BUSYBOX, ['--list'], { encoding: 'utf8' }).trim().split('\n');
    for (const applet of applets) if (applet !== 'busybox') symlinkSync('busybox', join(root, 'bin', applet));
    const tar = execFileSync('tar', ['c', '-C', root, '.'], { maxBuffer: 64 * 1024 * 1024 });
    execFileSync('docker', ['import', '-', BOX], { input: tar, stdio: ['pipe', 'ignore', 'pipe'] });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
