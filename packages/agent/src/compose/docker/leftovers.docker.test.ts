import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { tempDataDir } from '../../spool/fixture.js';
import { BOX, describeDocker, docker } from './box.fixture.js';
import { ComposeCli } from './cli.js';

const ENDLESS = 'echo begun; while :; do sleep 1; done';

/** A program with those arguments, that has begun and does not end. */
async function program(...args: string[]): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', ENDLESS, 'docker', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

function ended(child: ChildProcess): Promise<unknown> {
  return child.signalCode === null ? once(child, 'exit') : Promise.resolve();
}

describeDocker('what an agent that was killed has left running', () => {
  it('is ended; what only names its directory, or runs in a container, is not', async () => {
    const cli = new ComposeCli({ directory: tempDataDir(), project: 'app', env: {} });
    const { projectDirectory } = cli;
    const left = await program('compose', '--project-directory', projectDirectory, 'up');
    const other = await program('ls', projectDirectory);
    const args = ['sh', '-c', ENDLESS, 'docker', '--project-directory', projectDirectory];
    const foreign = docker('run', '-d', BOX, ...args);
    onTestFinished(() => void docker('rm', '-f', foreign));
    expect(await cli.endLeftovers()).toBe(1);
    await ended(left);
    expect(left.signalCode).toBe('SIGKILL');
    expect(other.signalCode).toBeNull();
    expect(docker('inspect', '-f', '{{.State.Status}}', foreign)).toBe('running');
  });
});
