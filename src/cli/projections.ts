/** The commands `projections`: list, verify, rebuild and retry the rows of tenants. */
import { Command } from 'commander';
import { readConfig } from '../config.js';
import { isGood, type JobReport, type JobRequest, type RowDifference } from '../ports/rowJobs.js';
import { afterFix, parkedSentence } from '../projections/tenantTexts.js';
import { openRowReads } from '../service/engines.js';
import { EXIT_FAILURE, interruptible } from './errors.js';
import { refuseMissingLog, withTenant, withTenants } from './operator.js';
import { columns, type JsonOption, printResult, withJson, withProgressBar } from './output.js';
import { rowsNow } from './rowsNow.js';
import { withRowJobs } from './rowWork.js';

export function projectionsCommand(): Command {
  return new Command('projections')
    .description(
      'Show, verify and rebuild the rows of tenants, which all reads are answered from, and retry parked ones.',
    )
    .addCommand(listCommand())
    .addCommand(
      jobCommand(
        'verify',
        'Apply the event log again to a copy of the rows, and compare both. Changes nothing. Exits with 1 if they differ.',
      ),
    )
    .addCommand(
      jobCommand(
        'rebuild',
        'Fill a copy of the rows from the event log beside the live ones, then swap it in. No webhook is sent again.',
      ),
    )
    .addCommand(retryCommand());
}

function listCommand(): Command {
  const definition = new Command('list').description(
    'Show how far the rows of each tenant are, and which tenants are parked or being filled.',
  );
  return withJson(definition, 'dynamic-assets projections list').action(list);
}

async function list(options: JsonOption): Promise<void> {
  const config = readConfig(process.env);
  const found = await withTenants(async (all, { commands: { eventStore } }) => {
    const rows = await openRowReads({ ...config, READER_THREADS: 1 });
    try {
      return await rowsNow(
        config,
        { eventStore, rows },
        all.map(({ name }) => name),
      );
    } finally {
      await rows.close();
    }
  }, config);
  const { head, position: shown, behind, tenants } = found;
  const lines = tenants.map(({ tenant, position, state, rows, lacksSince = '-' }) => [
    tenant,
    state,
    ...[position, rows].map(String),
    lacksSince,
  ]);
  const parked = tenants.flatMap(({ tenant, parked: why }) =>
    why === undefined ? [] : ['', parkedSentence({ tenant, ...why }), `  ${why.error}`, `  ${afterFix(tenant)}`],
  );
  const table = columns([['TENANT', 'STATE', 'POSITION', 'ROWS', 'LACKS EVENTS SINCE'], ...lines]);
  const place = `The log is at position ${head}, and the rows are at ${shown}: ${behind} behind.`;
  printResult(options, found, [place, '', ...table, ...parked]);
}

type ScopeOptions = JsonOption & { readonly tenant?: string };

function jobCommand(kind: 'verify' | 'rebuild', description: string): Command {
  const definition = new Command(kind)
    .description(description)
    .option('--tenant <name>', 'only what belongs to this tenant');
  return withJson(definition, `dynamic-assets projections ${kind} --tenant acme`).action((options: ScopeOptions) =>
    workOn({ kind, ...(options.tenant === undefined ? {} : { tenant: options.tenant }) }, options),
  );
}

type RetryOptions = JsonOption & { readonly tenant: string };

function retryCommand(): Command {
  const definition = new Command('retry')
    .description('Retry a tenant that is parked at an event that could not be applied.')
    .requiredOption('--tenant <name>', 'the tenant');
  return withJson(definition, 'dynamic-assets projections retry --tenant acme').action((options: RetryOptions) =>
    workOn({ kind: 'retry', tenant: options.tenant }, options),
  );
}

const NOTHING_DONE = {
  retry: 'Nothing is parked there.',
  verify: 'There is no tenant.',
  rebuild: 'There is no tenant.',
};

async function workOn(request: JobRequest, options: JsonOption): Promise<void> {
  const config = readConfig(process.env);
  refuseMissingLog(config);
  if (request.tenant !== undefined) await withTenant(request.tenant, async () => undefined);
  const reports: JobReport[] = [];
  const work = (signal: AbortSignal) =>
    withRowJobs(config, signal, (run) =>
      withProgressBar('{tenant} {bar} {percentage}% {value}/{total}', (onProgress) =>
        run(
          request,
          {
            onProgress: ({ done, of, tenant }) => onProgress(done, of, { tenant }),
            onReport: (report) => void reports.push(report),
          },
          signal,
        ),
      ),
    );
  await interruptible(work, () => 'What is not reported is as it was. The next one can begin at once.');
  const isWhole = reports.every(isGood);
  const rows = reports.reduce((sum, report) => sum + report.rows, 0);
  const lines = reports.length === 0 ? [NOTHING_DONE[request.kind]] : reports.flatMap(linesOf);
  printResult(options, { ok: isWhole, rows, reports }, lines);
  if (!isWhole) process.exitCode = EXIT_FAILURE;
}

function linesOf(report: JobReport): readonly string[] {
  const { tenant, outcome, position, rows, seconds, differences, more, error = '' } = report;
  const size = `${rows} rows, ${seconds.toFixed(1)} s`;
  switch (outcome) {
    case 'rebuilt':
      return [`${tenant}: rebuilt up to position ${position}; ${size}.`];
    case 'equal':
      return [`${tenant}: equal to the log at position ${position}; ${size}.`];
    case 'different':
      return [
        `${tenant}: ${differences.length + more} differences from the log at position ${position}; ${size}.`,
        ...differences.map(differenceText),
        ...(more === 0 ? [] : [`  and ${more} more`]),
      ];
    case 'goes_on':
      return [`${tenant}: caught up, and no longer parked.`];
    case 'parked':
      return [`${tenant}: still parked at position ${position}.`, `  ${error}`, `  ${afterFix(tenant)}`];
    case 'failed':
      return [`${tenant}: ${error}`];
  }
}

const differenceText = ({ space, kind, id, is }: RowDifference): string => `  ${space}, ${kind} ${id}: ${is}`;
