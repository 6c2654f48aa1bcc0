/** The command line: `drover-cloud` serves; its subcommands act on the store directly, also while a cloud runs. */
import { RELEASE_DATE } from '@drover/shared/release';
import { nearestName } from '@drover/shared/ros/describe-value';
import { Command } from 'commander';
import { type Config, loadConfig, misspelt, settingsHelp } from '../config.js';
import { backUp, createKey, createTenant, listKeys, revokeKey, UsageError } from './store-commands.js';

export interface Cli {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly serve: (config: Config, warnings: readonly string[]) => Promise<void>;
  readonly out: (line: string) => void;
}

/** Runs the command line. Rejects with what the command threw. */
export async function runCli(argv: readonly string[], cli: Cli): Promise<void> {
  const program = new Command('drover-cloud')
    .description('The cloud gateway of Drover. Without a command: serve.')
    .version(RELEASE_DATE)
    .addHelpText('after', `\n${settingsHelp()}`)
    .usage('[options] [command]')
    // What is none of the commands below.
    .argument('[command...]')
    .action(async ([unknown]: string[]) => {
      if (unknown !== undefined) throw new UsageError(unknownCommand(unknown, program));
      await cli.serve(loadConfig(cli.env), misspelt(cli.env));
    });

  program
    .command('backup')
    .argument('<file>', 'to be written; must not be there yet')
    .description('write the whole store to one file, also while a cloud serves from it')
    .action((file: string) => backUp(loadConfig(cli.env), file, cli.out));

  const tenants = program.command('tenants').description('organisations');
  tenants
    .command('create')
    .argument('<name>', 'name of the new tenant')
    .description('make a tenant; prints its full-access key, which can not be shown again')
    .action((name: string) => createTenant(loadConfig(cli.env), name, cli.out));

  const keys = program.command('keys').description('API keys');
  keys
    .command('list')
    .option('--json', 'one JSON object a line')
    .description('all keys of all tenants')
    .action((options: { json?: boolean }) => listKeys(loadConfig(cli.env), options.json === true, cli.out));
  keys
    .command('create')
    .argument('<name>', 'what the key is for')
    .option('--tenant <name>', 'whose key', 'default')
    .option('--scopes <scopes>', 'comma-separated, like robots:read,data:read; all where left out')
    .description('make a key; prints it, which can not be done again')
    .action((name: string, options: { tenant: string; scopes?: string }) =>
      createKey(loadConfig(cli.env), { name, ...options }, cli.out),
    );
  keys
    .command('revoke')
    .argument('<uuid>', 'of the key, as `keys list` shows it')
    .description('revoke a key, at once')
    .action((uuid: string) => revokeKey(loadConfig(cli.env), uuid, cli.out));

  await program.parseAsync([...argv]);
}

function unknownCommand(command: string, program: Command): string {
  const near = nearestName(
    command,
    program.commands.map((known) => known.name()),
  );
  return `there is no command ${command}; ${near === null ? 'see --help' : `did you mean ${near}?`}`;
}
