import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

const README = new URL('../../README.md', import.meta.url);

/** The README's block of commands under the words, as they stand there: `alias` is how they say `drover`. */
export function readmeCommands(under: string): { alias: string; commands: string[] } {
  const [, after = ''] = readFileSync(README, 'utf8').split(under);
  const block = /```sh\n([\s\S]*?)```/.exec(after)?.[1] ?? '';
  const alias = /^alias drover=.*$/m.exec(block)?.[0];
  // A command goes on in lines that are indented.
  const commands = block.match(/^drover .*(?:\n {2}.*)*/gm) ?? [];
  if (alias === undefined || commands.length === 0) throw new Error(`the README has no commands under ${under}`);
  return { alias, commands };
}

/** What a shell prints in which the alias was set and the command typed. */
export async function typed(alias: string, command: string, env: Record<string, string>): Promise<string> {
  const script = `shopt -s expand_aliases\n${alias}\n${command}`;
  const shell = spawn('bash', ['-c', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  return text(shell.stdout);
}
