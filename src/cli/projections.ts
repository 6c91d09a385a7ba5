/** The rows of tenants, which all reads are answered from: how far they are, and work on them. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Position } from '../ports/eventStore.js';
import type { TenantProgress } from '../ports/rowStore.js';
import { isGood, JOB_STATES, type JobProgress, type JobReport, type JobRequest } from '../projections/jobs.js';
import { afterFix, parkedSentence } from '../projections/tenantTexts.js';
import { userOf } from '../service/directoryUse.js';
import { keptCheckpoint, openRowReads } from '../service/engines.js';
import { columns, command, showProgress, text as textOption } from './command.js';
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

const work = (kind: JobRequest['kind'], about: string) =>
  command({
    name: `projections ${kind}`,
    about,
    example: `dynamic-assets projections ${kind} --tenant acme`,
    options: { tenant: textOption('<name>', 'only what belongs to this tenant') },
    run: ({ tenant }) => workOn({ kind, tenant }),
    lines: ({ reports }) =>
      reports.length === 0
        ? [kind === 'retry' ? 'Nothing is parked there.' : 'There is no tenant.']
        : reports.flatMap(linesOf),
  });

export const projectionCommands = [
  list,
  work('verify', 'Compare the rows with a copy that is made from the event log. Exits with 1 if they differ.'),
  work('rebuild', 'Make the rows again from the event log. No webhook is sent again.'),
  work('retry', 'Go on with tenants that are parked at an event that could not be applied.'),
];

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
  state: z.enum(JOB_STATES),
  error: z.string().nullable(),
  progress: z.custom<JobProgress | null>(),
  tenants_done: z.number(),
  reports: z.array(z.custom<JobReport>()),
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
    if (job.state !== 'running') return job.reports;
    if (job.progress !== null) showProgress(job.progress, job.tenants_done);
    await delay(ASK_MS);
  }
}

/** @throws CliError with the answer's message */
async function ask({ address, host, token }: Session, method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { Host: host, Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const sent = httpRequest(new URL(`/api/v1/operator${path}`, address), { method, headers });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = await once(sent, 'response').catch((cause: unknown) => {
    throw new CliError(`The service at ${address} does not answer.`, { cause });
  });
  const { data, message } = JSON.parse((await text(answer)) || '{}');
  if (answer.statusCode >= 300) throw new CliError(`The service at ${address} answers: ${message}`);
  return data;
}

const OUTCOMES: { readonly [outcome: string]: string } = {
  rebuilt: 'rebuilt.',
  equal: 'equal to the log.',
  different: 'different from the log. The first difference of each table:',
  retried: 'tried again; "dynamic-assets projections list" says whether it goes on.',
};

const linesOf = ({ tenant, outcome, differences, error }: JobReport): readonly string[] => [
  `${tenant}: ${error ?? OUTCOMES[outcome]}`,
  ...differences.map(({ space, kind, id }) => `  ${space}, ${kind} ${id}`),
];

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
