import { Command, Option } from 'commander';
import { projectionStatus, projections } from '../projections/projections.js';
import { type RebuildReport, rebuildProjection } from '../projections/rebuild.js';
import { CliError } from './errors.js';
import { withProjections } from './operator.js';
import { columns, type JsonOption, printResult, withJson, withProgressBar } from './output.js';

const NAMES = projections.map(({ name }) => name);
type Name = (typeof NAMES)[number];

type RebuildOptions = JsonOption & {
  readonly projection?: Name;
  readonly tenant?: string;
  readonly table?: string;
};

export function projectionsCommand(): Command {
  return new Command('projections')
    .description('Show and rebuild the read models.')
    .addCommand(listCommand())
    .addCommand(rebuildCommand());
}

function listCommand(): Command {
  const definition = new Command('list').description('Show how far each projection has come.');
  return withJson(definition, 'dynamic-assets projections list').action(list);
}

async function list(options: JsonOption): Promise<void> {
  const status = await withProjections(projectionStatus);
  const rows = status.map(({ name, position, head, behind }) => [name, ...[position, head, behind].map(String)]);
  printResult(options, status, columns([['PROJECTION', 'POSITION', 'HEAD', 'BEHIND'], ...rows]));
}

function rebuildCommand(): Command {
  const definition = new Command('rebuild')
    .description(
      'Build read models anew from the event log, beside the live ones, and put them in their place in one step. No webhook is sent again.',
    )
    .addOption(new Option('--projection <name>', 'only this one (default: all)').choices(NAMES))
    .option('--tenant <name>', 'only what belongs to this tenant')
    .option('--table <name>', 'only this table of records; needs --tenant');
  return withJson(definition, 'dynamic-assets projections rebuild --tenant acme --table dyn_item').action(rebuild);
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
  const reports = await withProjections(async (tools) => {
    const done: RebuildReport[] = [];
    for (const projection of names) {
      const format = `${projection} {bar} {percentage}% {value}/{total}`;
      done.push(
        await withProgressBar(format, (onProgress) =>
          rebuildProjection(tools, { projection, ...scope }, ({ position, head }) => onProgress(position, head)),
        ),
      );
    }
    return done;
  });
  printResult(options, reports, reports.map(sentence));
}

const sentence = ({ projection, tenant, table, events, seconds }: RebuildReport): string => {
  const scope = [tenant, table].filter((part) => part !== undefined).join('/');
  const what = scope === '' ? projection : `${projection} of ${scope}`;
  return `${what}: ${events} events in ${seconds.toFixed(1)} s, in place now.`;
};
