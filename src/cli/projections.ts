/** The rows of tenants, which all reads are answered from: how far they are, and work on them. */
import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Position } from '../ports/eventStore.js';
import type { TenantProgress } from '../ports/rowStore.js';
import { isGood, type JobReport, type JobRequest } from '../projections/jobs.js';
import { afterFix, parkedSentence } from '../projections/tenantTexts.js';
import { userOf } from '../service/directoryUse.js';
import { keptCheckpoint, openRowReads } from '../service/engines.js';
import { columns, command, type Option, text as textOption } from './command.js';
import { CliError } from './errors.js';
import { operatorLink } from './installation.js';
import { requireTenant, type Tools, withLog } from './operator.js';

const list = command({
  name: 'projections list',
  about: 'Show how far the rows of each tenant are, and which tenants are parked or being filled.',
  example: 'dynamic-assets projections list',
  run: () => withLog(rowsNow),
  lines: ({ head, position, behind, tenants }) => [
    `The log is at position ${head}, and the rows are at ${position}: ${behind} behind.`,
    '',
    ...columns([
      ['TENANT', 'STATE', 'POSITION', 'ROWS'],
      ...tenants.map((each) => [each.tenant, each.state, String(each.position), String(each.rows)]),
    ]),
    ...tenants.flatMap(({ tenant, parked }) =>
      parked === undefined
        ? []
        : ['', parkedSentence({ tenant, ...parked }), `  ${parked.error}`, `  ${afterFix(tenant)}`],
    ),
  ],
});

type Outcome = { readonly ok: boolean; readonly reports: readonly JobReport[] };

const work = (
  kind: JobRequest['kind'],
  about: string,
  tenantOption: Option<string | undefined> = textOption('<name>', 'only what belongs to this tenant'),
) =>
  command({
    name: `projections ${kind}`,
    about,
    example: `dynamic-assets projections ${kind} --tenant acme`,
    options: { tenant: tenantOption },
    run: ({ tenant }) => workOn({ kind, tenant }),
    lines: ({ reports }) =>
      reports.length === 0
        ? [kind === 'retry' ? 'Nothing is parked there.' : 'There is no tenant.']
        : reports.flatMap(linesOf),
    failure: ({ ok }) => (ok ? undefined : ''),
  });

const verify = work(
  'verify',
  'Have the running service make a copy of the rows from the event log, and compare both. Exits with 1 if they differ.',
);

const rebuild = work(
  'rebuild',
  'Have the running service make a copy of the rows from the event log, and swap it in. No webhook is sent again.',
);

const retry = work(
  'retry',
  'Have the running service retry a tenant that is parked at an event that could not be applied.',
  { ...textOption('<name>', 'the tenant'), isRequired: true },
);

export const projectionCommands = [list, verify, rebuild, retry];

/** The running service does the work; Ctrl-C cancels it, as the operator's console can. */
const workOn = (request: JobRequest): Promise<Outcome> =>
  withLog(async (tools) => {
    if (request.tenant !== undefined) await requireTenant(tools, request.tenant);
    const reports = await jobDone(await signedIn(tools), request);
    return { ok: reports.every(isGood), reports };
  });

type Session = { readonly address: string; readonly host: string; readonly token: string };

/** @throws CliError if no service runs with this data directory, or it does not answer */
async function signedIn(tools: Tools): Promise<Session> {
  const { DATA_DIR, OPERATOR_HOST } = tools.config;
  const address = userOf(DATA_DIR)?.address;
  if (address === undefined)
    throw new CliError(`No service runs with ${DATA_DIR}, which does this work: start it, then run this again.`);
  const service = { address, host: `${OPERATOR_HOST}:${new URL(address).port}`, token: '' };
  const opened = await ask(service, 'POST', '/sessions', { token: (await operatorLink(tools)).token });
  return { ...service, ...z.object({ token: z.string() }).parse(opened) };
}

const ASK_MS = 100;

const jobNow = z.looseObject({
  id: z.string(),
  state: z.string(),
  ended_at: z.string().nullable(),
  error: z.string().nullable(),
  reports: z.array(z.custom<JobReport>((report) => typeof report === 'object')),
});

/** @throws CliError that says why it failed */
async function jobDone(session: Session, request: JobRequest): Promise<readonly JobReport[]> {
  const { id } = jobNow.parse(await ask(session, 'POST', '/jobs', request));
  process.once('SIGINT', () => void ask(session, 'DELETE', `/jobs/${id}`).catch(() => undefined));
  for (;;) {
    const jobs = z.array(jobNow).parse(await ask(session, 'GET', '/jobs'));
    const job = jobs.find((each) => each.id === id);
    if (job === undefined || job.state === 'cancelled')
      throw new CliError('The job was cancelled, by an operator or by the end of the service.');
    if (job.error !== null) throw new CliError(job.error);
    if (job.ended_at !== null) return job.reports;
    await delay(ASK_MS);
  }
}

/** @throws CliError with the answer's message */
function ask({ address, host, token }: Session, method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = {
    Host: host,
    ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const sent = httpRequest(new URL(`/api/v1/operator${path}`, address), { method, headers }, (answer) => {
      const read = text(answer).then((body) => {
        const { data, message } = JSON.parse(body || '{}');
        if ((answer.statusCode ?? 500) < 300) resolve(data);
        else reject(new CliError(`The service at ${address} answers: ${message}`));
      });
      read.catch(reject);
    });
    sent.on('error', (error) => reject(new CliError(`The service at ${address} does not answer.`, { cause: error })));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function linesOf({ tenant, outcome, differences, error }: JobReport): readonly string[] {
  switch (outcome) {
    case 'rebuilt':
      return [`${tenant}: rebuilt.`];
    case 'equal':
      return [`${tenant}: equal to the log.`];
    case 'different':
      return [
        `${tenant}: different from the log. The first difference of each table:`,
        ...differences.map(({ space, kind, id }) => `  ${space}, ${kind} ${id}`),
      ];
    case 'retried':
      return [`${tenant}: tried again; "dynamic-assets projections list" says whether it goes on.`];
    default:
      return [`${tenant}: ${error}`];
  }
}

export type RowsNow = {
  readonly head: Position;
  /** The rows of all tenants showed the log up to here a moment ago, but those of parked ones. */
  readonly position: Position;
  readonly behind: number;
  readonly tenants: readonly (TenantProgress & { readonly tenant: string })[];
};

const NO_ROWS: TenantProgress = { position: 0, logBytes: 0, state: 'filling', rows: 0 };

/** How far the rows are, by what is stored with them: the same beside a running service and without one. */
export async function rowsNow({ config, eventStore, tenants: known }: Tools): Promise<RowsNow> {
  const rows = await openRowReads(config, 1);
  try {
    const { all } = await known();
    const tenants = await Promise.all(
      all.map(async ({ name }) => ({ tenant: name, ...((await rows.progress(name)) ?? NO_ROWS) })),
    );
    const head = await eventStore.head();
    const position = Math.min((await keptCheckpoint(config))?.position ?? 0, head);
    return { head, position, behind: head - position, tenants };
  } finally {
    await rows.close();
  }
}
