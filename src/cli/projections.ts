import { SingleBar } from 'cli-progress';
import { Command, Option } from 'commander';
import { readConfig } from '../config.js';
import { projections } from '../projections/projections.js';
import type { RebuildReport } from '../projections/rebuild.js';
import { openProjectionTools } from '../service/operatorTools.js';
import { CliError } from './errors.js';
import { columns, printJson, printLines } from './output.js';

const NAMES = projections.map(({ name }) => name);
type Name = (typeof NAMES)[number];

type RebuildOptions = {
  readonly projection?: Name;
  readonly tenant?: string;
  readonly table?: string;
  readonly json?: true;
};

export function projectionsCommand(): Command {
  return new Command('projections')
    .description('Show and rebuild the read models.')
    .addCommand(listCommand())
    .addCommand(rebuildCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('Show how far each projection has come.')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', '\nExample:\n  $ dynamic-assets projections list')
    .action(list);
}

async function list(options: { readonly json?: true }): Promise<void> {
  const tools = await openProjectionTools(readConfig(process.env));
  try {
    const status = await tools.status();
    if (options.json) {
      printJson(status);
      return;
    }
    const rows = status.map(({ name, position, head, behind }) => [name, ...[position, head, behind].map(String)]);
    printLines(...columns([['PROJECTION', 'POSITION', 'HEAD', 'BEHIND'], ...rows]));
  } finally {
    await tools.close();
  }
}

function rebuildCommand(): Command {
  return new Command('rebuild')
    .description(
      'Build read models anew from the event log, beside the live ones, and put them in their place in one step. No webhook is sent again.',
    )
    .addOption(new Option('--projection <name>', 'only this one (default: all)').choices(NAMES))
    .option('--tenant <name>', 'only what belongs to this tenant')
    .option('--table <name>', 'only this table of records; needs --tenant')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', '\nExample:\n  $ dynamic-assets projections rebuild --tenant acme --table dyn_item')
    .action(rebuild);
}

/** A single table is one of the records projection. */
function namesToRebuild({ projection, tenant, table }: RebuildOptions): readonly Name[] {
  if (table === undefined) return projection === undefined ? NAMES : [projection];
  if (tenant === undefined) throw new CliError('--table needs --tenant: name the tenant whose table is rebuilt.');
  if (projection !== undefined && projection !== 'records') {
    throw new CliError('--table goes with --projection records only.');
  }
  return ['records'];
}

async function rebuild(options: RebuildOptions): Promise<void> {
  const names = namesToRebuild(options);
  const { tenant, table } = options;
  const scope = { ...(tenant === undefined ? {} : { tenant }), ...(table === undefined ? {} : { table }) };
  const tools = await openProjectionTools(readConfig(process.env));
  try {
    const reports: RebuildReport[] = [];
    for (const projection of names) {
      reports.push(await withBar(projection, (onProgress) => tools.rebuild({ projection, ...scope }, onProgress)));
    }
    if (options.json) printJson(reports);
    else printLines(...reports.map(sentence));
  } finally {
    await tools.close();
  }
}

/** A progress bar on standard error, where that is a terminal. */
async function withBar<T>(
  name: string,
  work: (onProgress: (progress: { readonly position: number; readonly head: number }) => void) => Promise<T>,
): Promise<T> {
  const bar = new SingleBar({ format: `${name} {bar} {percentage}% {value}/{total}`, clearOnComplete: true });
  bar.start(0, 0);
  try {
    return await work(({ position, head }) => {
      bar.setTotal(head);
      bar.update(position);
    });
  } finally {
    bar.stop();
  }
}

const sentence = ({ projection, tenant, table, events, seconds }: RebuildReport): string => {
  const scope = [tenant, table].filter((part) => part !== undefined).join('/');
  const what = scope === '' ? projection : `${projection} of ${scope}`;
  return `${what}: ${events} events in ${seconds.toFixed(1)} s, in place now.`;
};
