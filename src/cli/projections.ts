import { Command, Option } from 'commander';
import { nearestFirst } from '../domain/editDistance.js';
import { projectionStatus, projections } from '../projections/projections.js';
import { type RebuildReport, rebuildProjection } from '../projections/rebuild.js';
import { UnknownNameError, UsageError } from './errors.js';
import { interruptible } from './interruption.js';
import { type ProjectionTools, withProjections } from './operator.js';
import { columns, type JsonOption, printResult, withJson, withProgressBar } from './output.js';

const NAMES = projections.map(({ name }) => name);
type Name = (typeof NAMES)[number];

type ScopeOptions = JsonOption & {
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
  const definition = new Command('rebuild').description(
    'Build read models anew from the event log, beside the live ones, and put them in their place in one step. No webhook is sent again.',
  );
  return withJson(withScope(definition), 'dynamic-assets projections rebuild --tenant acme --table dyn_item').action(
    rebuild,
  );
}

const withScope = (command: Command): Command =>
  command
    .addOption(new Option('--projection <name>', 'only this one (default: all)').choices(NAMES))
    .option('--tenant <name>', 'only what belongs to this tenant')
    .option('--table <name>', 'only this table of records; needs --tenant');

/** A single table is one of the records projection. @throws UsageError */
function namesIn({ projection, tenant, table }: ScopeOptions): readonly Name[] {
  if (table === undefined) return projection === undefined ? NAMES : [projection];
  if (tenant === undefined) throw new UsageError('--table needs --tenant: name the tenant that the table belongs to.');
  if (projection !== undefined && projection !== 'records') {
    throw new UsageError('--table goes with --projection records only.');
  }
  return ['records'];
}

/** The tenant and the table that the options name, which must exist. @throws UnknownNameError */
async function scopeIn(tools: ProjectionTools, { tenant: name, table }: ScopeOptions) {
  if (name === undefined) return {};
  const tenant = await tools.tenant(name);
  if (table === undefined) return { tenant: name };
  if (!tenant.assetTypes.has(table)) {
    const tables = nearestFirst(table, [...tenant.assetTypes.keys()]);
    throw new UnknownNameError(`table ${table} in tenant ${name}`, tables, 'The tenant has none.');
  }
  return { tenant: name, table };
}

async function rebuild(options: ScopeOptions): Promise<void> {
  const names = namesIn(options);
  const done: RebuildReport[] = [];
  const work = (signal: AbortSignal) =>
    withProjections(async (tools) => {
      const scope = await scopeIn(tools, options);
      for (const projection of names) {
        const format = `${projection} {bar} {percentage}% {value}/{total}, {events} events, {records} records`;
        done.push(
          await withProgressBar(format, (onProgress) =>
            rebuildProjection(
              tools,
              { projection, ...scope },
              ({ position, head, ...applied }) => onProgress(position, head, applied),
              signal,
            ),
          ),
        );
      }
    });
  await interruptible(work, () => leftBy(done, names));
  printResult(options, done, done.map(sentence));
}

/** How things stand after a rebuild that was stopped. */
function leftBy(done: readonly RebuildReport[], names: readonly Name[]): string {
  const left = names.slice(done.length).join(', ');
  const inPlace = done.length === 0 ? '' : `In place now: ${done.map(({ projection }) => projection).join(', ')}. `;
  return `${inPlace}As before: ${left}. The next rebuild can begin at once.`;
}

const sentence = ({ projection, tenant, table, events, records, behind, seconds }: RebuildReport): string => {
  const scope = [tenant, table].filter((part) => part !== undefined).join('/');
  const what = scope === '' ? projection : `${projection} of ${scope}`;
  const asFar = behind === 0 ? '' : `, as far as the projector is: ${behind} positions behind the log`;
  return `${what}: ${events} events with ${records} records in ${seconds.toFixed(1)} s, in place now${asFar}.`;
};
