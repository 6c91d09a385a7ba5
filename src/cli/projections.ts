/** The commands `projections`: list, verify, rebuild and retry. */
import { Command, Option } from 'commander';
import { nearestFirst } from '../domain/editDistance.js';
import type { Parked } from '../ports/projectionProgress.js';
import type { Difference } from '../ports/readModelProof.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { projectionStatus, projections, statusOfLanes, tenantsBehind } from '../projector/projections.js';
import { afterFix, behindText, parkedSentence } from '../projector/tenantState.js';
import type { RebuildReport } from '../rebuild/rebuild.js';
import { MAX_DIFFERENCES, type VerifyReport } from '../rebuild/verify.js';
import { type Follow, type RetryOutcome, rebuildLanes, retryParked, verifyLanes } from '../service/projectionWork.js';
import { replaceUnreadable } from './damagedReadModels.js';
import { EXIT_FAILURE, interruptible, UnknownNameError, UsageError } from './errors.js';
import { type ProjectionTools, withProjections } from './operator.js';
import { columns, type JsonOption, printResult, withJson, withProgressBar } from './output.js';

export function projectionsCommand(): Command {
  return new Command('projections')
    .description('Show, verify and rebuild the read models, and retry parked ones.')
    .addCommand(listCommand())
    .addCommand(verifyCommand())
    .addCommand(rebuildCommand())
    .addCommand(retryCommand());
}

function listCommand(): Command {
  const definition = new Command('list').description(
    'Show the position of each projection, and which tenants are behind or parked in it.',
  );
  return withJson(definition, 'dynamic-assets projections list').action(list);
}

async function list(options: JsonOption): Promise<void> {
  const status = await withProjections(async ({ lanes }) => {
    const behind = (await Promise.all(lanes.map(behindIn))).flat();
    return (await statusOfLanes(lanes)).map((each) => {
      const own = behind.filter(({ name }) => name === each.name);
      const names = own.flatMap((found) => found.names);
      return { ...each, tenantsBehind: { names, isAll: own.every(({ isAll }) => isAll) } };
    });
  });
  const rows = status.map(({ name, position, head, behind, parked }) => [
    name,
    ...[position, head, behind, parked.length].map(String),
  ]);
  const table = columns([['PROJECTION', 'POSITION', 'HEAD', 'BEHIND', 'PARKED'], ...rows]);
  const late = status.flatMap(({ name, tenantsBehind: found }) => {
    const text = behindText(found, true);
    return text === undefined ? [] : ['', `${name}: ${text}`];
  });
  printResult(options, status, [...table, ...late, ...parkedLines(status.flatMap(({ parked }) => parked))]);
}

/** Tenants behind, for each projection of a lane. */
const behindIn = async (lane: ProjectionTools['lanes'][number]) =>
  Promise.all(
    (await projectionStatus(lane)).map(async (each) => ({
      name: each.name,
      ...(await tenantsBehind(lane.eventStore, each, await lane.writer.outOfOrder())),
    })),
  );

function rebuildCommand(): Command {
  const definition = new Command('rebuild').description(
    'Rebuild read models from the event log beside the live ones, then swap them in one step. No webhook is sent again.',
  );
  return withJson(withScope(definition), 'dynamic-assets projections rebuild --tenant acme --table dyn_item').action(
    rebuild,
  );
}

async function rebuild(options: ScopeOptions): Promise<void> {
  const names = namesIn(options);
  const replaced = await replaceUnreadable();
  const done: RebuildReport[] = [];
  const work = (signal: AbortSignal) =>
    withProjections(async (tools) => {
      const scope = await scopeIn(tools, options);
      for (const projection of names) {
        const format = `${projection} {bar} {percentage}% {value}/{total}, {events} events, {records} records`;
        const lanes = tools.lanesOf(options.tenant);
        done.push(await rebuildLanes(lanes, { projection, ...scope }, withBar(format), signal));
      }
    });
  await interruptible(work, () => leftBy(done, names));
  printResult(options, done, [...(replaced === undefined ? [] : [replaced]), ...done.map(sentence)]);
}

const withBar =
  (format: string): Follow =>
  (work) =>
    withProgressBar(format, (onProgress) => work(({ done, of, ...values }) => onProgress(done, of, values)));

/** How things stand after an interrupted rebuild. */
function leftBy(done: readonly RebuildReport[], names: readonly Name[]): string {
  const left = names.slice(done.length).join(', ');
  const inPlace = done.length === 0 ? '' : `In place now: ${done.map(({ projection }) => projection).join(', ')}. `;
  return `${inPlace}Unchanged: ${left}. The next rebuild can begin at once.`;
}

const sentence = ({ events, records, behind, seconds, ...scope }: RebuildReport): string => {
  const asFar = behind === 0 ? '' : `, as far as the projector is: ${behind} positions behind the log`;
  return `${scopeText(scope)}: ${events} events with ${records} records in ${seconds.toFixed(1)} s, in place now${asFar}.`;
};

function verifyCommand(): Command {
  const definition = new Command('verify').description(
    'Apply the event log again beside the live read models, and compare them record by record, indexes and counts included. Changes nothing. Exits with 1 if they differ.',
  );
  return withJson(withScope(definition), 'dynamic-assets projections verify --tenant acme --table dyn_item').action(
    verify,
  );
}

async function verify(options: ScopeOptions): Promise<void> {
  const names = namesIn(options);
  const work = (signal: AbortSignal) =>
    withProjections(async (tools) => {
      const scope = await scopeIn(tools, options);
      const reports: VerifyReport[] = [];
      for (const projection of names) {
        const format = `${projection}, {step} {bar} {percentage}% {value}/{total}, {records} records`;
        const lanes = tools.lanesOf(options.tenant);
        reports.push(await verifyLanes(lanes, { projection, ...scope }, withBar(format), signal));
      }
      return reports;
    });
  const reports = await interruptible(work, () => 'Nothing was changed. The next one can begin at once.');
  const result = resultOf(reports);
  printResult(options, result, linesOf(reports, result));
  if (!result.equal) process.exitCode = EXIT_FAILURE;
}

type NamedDifference = Difference & Pick<RebuildScope, 'projection'>;

/** The output of `--json`. */
function resultOf(reports: readonly VerifyReport[]) {
  const named = reports.flatMap(({ projection, differences }) =>
    differences.map((difference): NamedDifference => ({ projection, ...difference })),
  );
  const all = reports.reduce((sum, report) => sum + found(report), 0);
  const differences = named.slice(0, MAX_DIFFERENCES);
  return {
    equal: all === 0,
    projections: reports.map(({ differences: listed, more, ...report }) => ({
      ...report,
      differences: listed.length + more,
    })),
    differences,
    more: all - differences.length,
  };
}

const found = ({ differences, more }: VerifyReport): number => differences.length + more;

function linesOf(reports: readonly VerifyReport[], { differences, more }: ReturnType<typeof resultOf>): string[] {
  const lines = reports.map((report) => {
    const { position, parts, records, seconds } = report;
    const number = found(report);
    const outcome =
      number === 0 ? 'equal to the log' : `${number} ${number === 1 ? 'difference' : 'differences'} from the log`;
    return `${scopeText(report)}: ${outcome}, at position ${position}; ${records} records in ${parts} tables, ${seconds.toFixed(1)} s.`;
  });
  return [...lines, ...differences.map(lineOf), ...(more === 0 ? [] : [`  and ${more} more`])];
}

function lineOf({ projection, tenant, table, place, record, kind, detail }: NamedDifference): string {
  const part = [projection, tenant, table].filter((each) => each !== null && each !== '').join('/');
  return `  ${[part, place, ...(record === null ? [] : [record])].join(', ')}: ${kind}. ${detail}`;
}

/** A paragraph for each with the remedy; no lines if nothing is parked. */
const parkedLines = (parked: readonly Parked[]): readonly string[] =>
  parked.flatMap((each) => ['', parkedSentence(each), `  ${each.error}`, `  ${afterFix(each)}`]);

type RetryOptions = JsonOption & { readonly tenant: string; readonly projection?: string };

function retryCommand(): Command {
  const definition = new Command('retry')
    .description(
      'Retry the read models of a tenant that are parked at an event that could not be applied. The service does it, beside its work for the others.',
    )
    .requiredOption('--tenant <name>', 'the tenant')
    .addOption(new Option('--projection <name>', 'only this projection (default: all parked ones)').choices(NAMES));
  return withJson(definition, 'dynamic-assets projections retry --tenant acme').action(retry);
}

async function retry(options: RetryOptions): Promise<void> {
  const outcomes = await withProjections(async (tools) => {
    await tools.tenant(options.tenant);
    const lanes = tools.lanesOf(options.tenant);
    return retryParked(lanes, options.tenant, options.projection === undefined ? NAMES : [options.projection]);
  });
  const lines = outcomes.length === 0 ? [`Nothing of ${options.tenant} is parked there.`] : outcomes.flatMap(sentences);
  printResult(options, outcomes, lines);
  if (outcomes.some(({ outcome }) => outcome === 'parked')) process.exitCode = EXIT_FAILURE;
}

function sentences(outcome: RetryOutcome): readonly string[] {
  const { tenant, projection } = outcome;
  switch (outcome.outcome) {
    case 'goes on':
      return [`${projection} of ${tenant}: caught up, and no longer parked.`];
    case 'asked':
      return [
        `${projection} of ${tenant}: requested. The service retries it as soon as it runs; "dynamic-assets projections list" shows the result.`,
      ];
    case 'parked':
      return [`${projection} of ${tenant}: still parked.`, ...parkedLines([outcome.parked]).slice(1)];
  }
}

/** Names of all projections. */
const NAMES = projections.map(({ name }) => name);
type Name = (typeof NAMES)[number];

type ScopeOptions = JsonOption & {
  readonly projection?: Name;
  readonly tenant?: string;
  readonly table?: string;
};

const withScope = (command: Command): Command =>
  command
    .addOption(new Option('--projection <name>', 'only this projection (default: all)').choices(NAMES))
    .option('--tenant <name>', 'only what belongs to this tenant')
    .option('--table <name>', 'only this table of records; needs --tenant');

/** --table implies the records projection. @throws UsageError */
function namesIn({ projection, tenant, table }: ScopeOptions): readonly Name[] {
  if (table === undefined) return projection === undefined ? NAMES : [projection];
  if (tenant === undefined) throw new UsageError('--table needs --tenant: name the tenant that the table belongs to.');
  if (projection !== undefined && projection !== 'records') {
    throw new UsageError('--table goes with --projection records only.');
  }
  return ['records'];
}

/** Checks that the tenant and table exist. @throws UnknownNameError */
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

/** `records of acme/dyn_item`. */
function scopeText({ projection, tenant, table }: Pick<RebuildScope, 'projection' | 'tenant' | 'table'>): string {
  const scope = [tenant, table].filter((part) => part !== undefined).join('/');
  return scope === '' ? projection : `${projection} of ${scope}`;
}
