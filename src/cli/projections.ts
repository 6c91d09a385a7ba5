/** The rows of tenants, which all reads are answered from: how far they are, and work on them. */
import type { Config } from '../config.js';
import type { Tenant } from '../domain/identity/directory.js';
import { tenantOf } from '../domain/tenantOf.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import { isGood, type JobReport, type JobRequest } from '../ports/rowJobs.js';
import type { RowReads, TenantProgress } from '../ports/rowStore.js';
import { afterFix, parkedSentence } from '../projections/tenantTexts.js';
import { keptCheckpoint, openRowReads } from '../service/engines.js';
import { command, required, text } from './command.js';
import { interruptible } from './errors.js';
import { requireTenant, type Tools, withLog } from './operator.js';
import { withRowJobs } from './rowWork.js';
import { columns, withProgressBar } from './terminal.js';

const list = command({
  name: 'projections list',
  about: 'Show how far the rows of each tenant are, and which tenants are parked or being filled.',
  example: 'dynamic-assets projections list',
  run: () => withLog(rowsNow),
  lines: ({ head, position, behind, tenants }) => [
    `The log is at position ${head}, and the rows are at ${position}: ${behind} behind.`,
    '',
    ...columns([
      ['TENANT', 'STATE', 'POSITION', 'ROWS', 'LACKS EVENTS SINCE'],
      ...tenants.map((each) => [
        each.tenant,
        each.state,
        String(each.position),
        String(each.rows),
        each.lacksSince ?? '-',
      ]),
    ]),
    ...tenants.flatMap(({ tenant, parked }) =>
      parked === undefined
        ? []
        : ['', parkedSentence({ tenant, ...parked }), `  ${parked.error}`, `  ${afterFix(tenant)}`],
    ),
  ],
});

type Outcome = { readonly ok: boolean; readonly rows: number; readonly reports: readonly JobReport[] };

const failure = ({ ok }: Outcome): string | undefined => (ok ? undefined : '');

const OF_ONE = text('<name>', 'only what belongs to this tenant');
const NO_TENANT = 'There is no tenant.';

const verify = command({
  name: 'projections verify',
  about:
    'Apply the event log again to a copy of the rows, and compare both. Changes nothing. Exits with 1 if they differ.',
  example: 'dynamic-assets projections verify --tenant acme',
  options: { tenant: OF_ONE },
  run: ({ tenant }) => workOn({ kind: 'verify', tenant }),
  lines: ({ reports }) => linesOf(reports, NO_TENANT),
  failure,
});

const rebuild = command({
  name: 'projections rebuild',
  about: 'Fill a copy of the rows from the event log beside the live ones, then swap it in. No webhook is sent again.',
  example: 'dynamic-assets projections rebuild --tenant acme',
  options: { tenant: OF_ONE },
  run: ({ tenant }) => workOn({ kind: 'rebuild', tenant }),
  lines: ({ reports }) => linesOf(reports, NO_TENANT),
  failure,
});

const retry = command({
  name: 'projections retry',
  about: 'Retry a tenant that is parked at an event that could not be applied.',
  example: 'dynamic-assets projections retry --tenant acme',
  options: { tenant: required('<name>', 'the tenant') },
  run: ({ tenant }) => workOn({ kind: 'retry', tenant }),
  lines: ({ reports }) => linesOf(reports, 'Nothing is parked there.'),
  failure,
});

export const projectionCommands = [list, verify, rebuild, retry];

const workOn = (request: JobRequest): Promise<Outcome> =>
  withLog(async (tools) => {
    if (request.tenant !== undefined) await requireTenant(tools, request.tenant);
    const reports: JobReport[] = [];
    const onReport = (report: JobReport): void => void reports.push(report);
    const work = (signal: AbortSignal) =>
      withRowJobs(tools, signal, (run) =>
        withProgressBar('{tenant} {bar} {percentage}% {value}/{total}', (onProgress) => {
          const told = {
            onReport,
            onProgress: ({ done, of, tenant }: { done: number; of: number; tenant: string }) =>
              onProgress(done, of, { tenant }),
          };
          return run(request, told, signal);
        }),
      );
    const rows = await interruptible(work, () => 'What is not reported is as it was. The next one can begin at once.');
    return { ok: reports.every(isGood), rows, reports };
  });

const linesOf = (reports: readonly JobReport[], nothingDone: string): readonly string[] =>
  reports.length === 0 ? [nothingDone] : reports.flatMap(linesOfReport);

function linesOfReport(report: JobReport): readonly string[] {
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
        ...differences.map(({ space, kind, id, is }) => `  ${space}, ${kind} ${id}: ${is}`),
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

type TenantNow = TenantProgress & {
  readonly tenant: string;
  /** When its first event was written that the rows lack (ISO 8601); undefined: they lack none, or are parked. */
  readonly lacksSince?: string;
};

export type RowsNow = {
  readonly head: Position;
  /** The rows of all tenants show the log up to here, but those of parked ones. */
  readonly position: Position;
  readonly behind: number;
  readonly tenants: readonly TenantNow[];
};

const NO_ROWS: TenantProgress = { position: 0, inLog: { events: 0, bytes: 0 }, state: 'filling', rows: 0 };

type Sources = {
  readonly eventStore: Pick<EventStore, 'head' | 'subscribe'>;
  readonly rows: Pick<RowReads, 'progress'>;
};

/** How far the rows are, by what is stored with them: the same beside a running service and without one. */
export async function rowsNow({ config, eventStore, tenants: known }: Tools): Promise<RowsNow> {
  const rows = await openRowReads({ ...config, READER_THREADS: 1 });
  try {
    return await rowsOf(config, { eventStore, rows }, (await known()).all);
  } finally {
    await rows.close();
  }
}

async function rowsOf(config: Config, { eventStore, rows }: Sources, names: readonly Tenant[]): Promise<RowsNow> {
  const head = await eventStore.head();
  // Before the progress of tenants: they are there by then.
  const applied = Math.min((await keptCheckpoint(config))?.position ?? 0, head);
  const found = new Map<string, TenantProgress>();
  for (const { name } of names) found.set(name, (await rows.progress(name)) ?? NO_ROWS);
  const lacking = await firstLacking(eventStore, found, applied, head);
  const firsts = [...lacking.values()].map(({ position }) => position - 1);
  const position = Math.min(head, ...firsts);
  const tenants = [...found].map(([tenant, progress]): TenantNow => {
    const first = lacking.get(tenant);
    return { tenant, ...progress, ...(first === undefined ? {} : { lacksSince: first.since }) };
  });
  return { head, position, behind: head - position, tenants };
}

type Lacking = { readonly position: Position; readonly since: string };

/** Of each tenant that is not parked, the first event up to `head` that its rows lack. */
async function firstLacking(
  eventStore: Sources['eventStore'],
  tenants: ReadonlyMap<string, TenantProgress>,
  after: Position,
  head: Position,
): Promise<ReadonlyMap<string, Lacking>> {
  const lacking = new Map<string, Lacking>();
  const reading = new AbortController();
  if (after >= head) return lacking;
  for await (const { events, position: readTo } of eventStore.subscribe({ after, signal: reading.signal })) {
    for (const event of events) {
      const tenant = tenantOf(event) ?? '';
      const { state, position } = tenants.get(tenant) ?? { state: 'parked', position: 0 };
      if (state === 'parked' || event.position <= position || event.position > head || lacking.has(tenant)) continue;
      lacking.set(tenant, { position: event.position, since: event.metadata.occurredAt });
    }
    if (readTo >= head) break;
  }
  reading.abort();
  return lacking;
}
