/** The read models: how far they are, what is parked, and work on them: `/api/v1/operator/projections`, `/parked` and `/jobs`. */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { ConflictError, ValidationError } from '../../commands/context.js';
import {
  KEPT_OPERATOR_WORK,
  MAX_OPERATOR_PAGE,
  MAX_STRING_LENGTH,
  OPERATOR_WORK_AT_ONCE,
} from '../../domain/limits.js';
import {
  JOB_KINDS,
  JOB_OUTCOMES,
  JOB_STATES,
  type JobRequest,
  type ProjectionJob,
} from '../../ports/projectionJobs.js';
import type { Parked } from '../../ports/projectionProgress.js';
import { projections } from '../../projector/projections.js';
import type { Api } from '../deps.js';
import { notFound, tooManyRequests } from '../errors.js';
import * as json from '../openapi/schema.js';
import { dataReply, pathText, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { pageAfter, pageQuery, pageReply } from './pages.js';
import type { ProjectionView } from './parts.js';

const NAMES = projections.map(({ name }) => name);

export const parkedView = json.view<Parked>({
  tenant: [json.text, ({ tenant }) => tenant],
  projection: [json.text, ({ projection }) => projection],
  since: [json.timestamp, ({ since }) => since],
  position: [{ ...json.count, description: 'Of the event that could not be applied.' }, ({ position }) => position],
  event_id: [json.uuid, ({ eventId }) => eventId],
  event_type: [json.text, ({ eventType }) => eventType],
  error: [json.text, ({ error }) => error],
  retry_asked: [json.truth, ({ retryAsked }) => retryAsked],
});

export const projectionView = json.view<ProjectionView>({
  name: [json.oneOf(NAMES), ({ name }) => name],
  head: [{ ...json.count, description: 'Position of the last event in the log.' }, ({ head }) => head],
  seconds: [
    { type: ['number', 'null'], description: 'Age of the oldest event that it has not applied; null: not known.' },
    ({ seconds }) => seconds,
  ],
  lanes: [
    json.listOf(
      json.closedObject({
        lane: json.count,
        position: json.count,
        behind: json.count,
        rate: { type: ['number', 'null'], description: 'Positions a second since an earlier request; null: none yet.' },
      }),
    ),
    ({ lanes }) => lanes,
  ],
});

const jobView = json.view<ProjectionJob>({
  id: [json.uuid, ({ id }) => id],
  kind: [json.oneOf(JOB_KINDS), ({ kind }) => kind],
  projections: [json.listOf(json.oneOf(NAMES)), (job) => job.projections],
  tenant: [{ ...json.nullableText, description: 'null: all.' }, ({ tenant }) => tenant ?? null],
  table: [{ ...json.nullableText, description: 'null: all.' }, ({ table }) => table ?? null],
  operator: [json.text, ({ operator }) => operator],
  state: [json.oneOf(JOB_STATES), ({ state }) => state],
  started_at: [json.timestamp, ({ startedAt }) => startedAt],
  ended_at: [{ type: ['string', 'null'], format: 'date-time' }, ({ endedAt }) => endedAt ?? null],
  progress: [json.orNull(json.ref('JobProgress')), ({ progress }) => progress ?? null],
  reports: [json.listOf(json.ref('JobReport')), ({ reports }) => reports.map((each) => ({ error: null, ...each }))],
  error: [{ ...json.nullableText, description: 'Why it failed.' }, ({ error }) => error ?? null],
});

const jobSchemas: json.Schemas = {
  ProjectionJob: jobView.schema,
  JobProgress: json.closedObject({
    projection: json.text,
    step: json.oneOf(['applying', 'comparing']),
    done: { ...json.count, description: 'A position of the log, or compared tables.' },
    of: json.count,
    records: json.count,
  }),
  JobReport: json.closedObject({
    projection: json.text,
    outcome: {
      ...json.oneOf(JOB_OUTCOMES),
      description: 'rebuilt: it stood the proof and is in place. asked: the projector has not tried it yet.',
    },
    position: json.count,
    records: json.count,
    seconds: { type: 'number' },
    differences: json.listOf(
      json.closedObject({
        tenant: json.nullableText,
        table: json.nullableText,
        place: json.text,
        record: json.nullableText,
        kind: json.text,
        detail: json.text,
      }),
    ),
    more: { ...json.count, description: 'Differences beside those listed.' },
    error: json.nullableText,
  }),
};

const name = z.string('must be a string.').max(MAX_STRING_LENGTH, 'is too long.').optional();
const jobBody = z.strictObject({
  kind: z.enum(JOB_KINDS, `must be one of ${JOB_KINDS.join(', ')}.`),
  projection: z.enum(NAMES, `must be one of ${NAMES.join(', ')}.`).optional(),
  tenant: name,
  table: name,
});

const everyJob = (api: Api): readonly ProjectionJob[] => api.operator.jobs.all();

/** @throws HttpError 404 */
function jobOf(api: Api, id: string): ProjectionJob {
  const job = everyJob(api).find((each) => each.id === id);
  if (job === undefined) throw notFound(`This process knows no job ${id}.`);
  return job;
}

/** @throws ValidationError for a scope that does not exist */
function requestIn({ directory }: Api, body: unknown): JobRequest {
  const { kind, projection, tenant, table } = parseBody(jobBody, body);
  const invalid = (field: string, message: string) => new ValidationError({ [field]: [message] });
  const found = tenant === undefined ? undefined : directory.tenant(tenant);
  if (tenant !== undefined && found === undefined) throw invalid('tenant', `There is no tenant ${tenant}.`);
  if (tenant === undefined && (kind === 'retry' || table !== undefined))
    throw invalid('tenant', 'The tenant field is required.');
  if (table !== undefined && kind === 'retry') throw invalid('table', 'A retry has no table.');
  if (table !== undefined && found?.assetTypes.has(table) !== true)
    throw invalid('table', `The tenant has no table ${table}.`);
  if (table !== undefined && projection !== undefined && projection !== 'records')
    throw invalid('projection', 'A table goes with the projection records only.');
  const chosen = table === undefined ? projection : 'records';
  return { kind, projections: chosen === undefined ? NAMES : [chosen], tenant, table };
}

export const operatorProjections: Resource = {
  tag: 'operator: projections',
  pathParameters: { id: pathText('id') },
  schemas: { Parked: parkedView.schema, Projection: projectionView.schema, ...jobSchemas },
  operations: {
    'GET /projections': {
      id: 'operatorListProjections',
      summary: 'Projections with position, lag and rate in each lane',
      allow: 'operators',
      work: 'operator',
      answer: json.all('Projection'),
      handle: async ({ operator }) => dataReply((await operator.projections()).map(projectionView.show)),
    },
    'GET /parked': {
      id: 'operatorListParked',
      summary: 'Tenants that are parked, each with the event and the error',
      allow: 'operators',
      query: parametersIn(pageQuery),
      answer: json.linkedPage('Parked', MAX_OPERATOR_PAGE),
      async handle(api, call) {
        const { search = '', after } = parseQuery(pageQuery, call.query);
        const keyOf = ({ tenant, projection }: Parked): string => `${tenant}.${projection}`;
        const found = (await api.operator.parked())
          .filter(({ tenant }) => tenant.includes(search.toLowerCase()))
          .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
        const { entries, next } = pageAfter(found, keyOf, after);
        return pageReply(api, call, entries.map(parkedView.show), next);
      },
    },
    'GET /jobs': {
      id: 'operatorListJobs',
      summary: `Rebuilds, verifications and retries that this process was asked for: those at work, and the last ${KEPT_OPERATOR_WORK} that ended`,
      allow: 'operators',
      answer: json.all('ProjectionJob'),
      handle: (api) => dataReply(everyJob(api).map(jobView.show)),
    },
    'POST /jobs': {
      id: 'operatorStartJob',
      summary: 'Rebuild or verify read models, or retry what is parked of a tenant',
      description:
        'Of everything, a tenant, or a table of it; all projections unless one is named. A rebuild fills a copy from the log, proves it and swaps it in; a verification changes nothing. No webhook is sent again. A job ends with its process.',
      allow: 'operators',
      body: json.bodyOf(jobBody, { kind: 'verify', tenant: 'acme', projection: 'records' }),
      status: 202,
      answer: json.one('ProjectionJob', 'It has begun.'),
      handle(api, { body, operator }) {
        const job = api.operator.jobs.start(requestIn(api, body), operator);
        if (job === undefined) throw tooManyRequests(`${OPERATOR_WORK_AT_ONCE} jobs are at work already.`, 5);
        return dataReply(jobView.show(job));
      },
    },
    'GET /jobs/:id': {
      id: 'operatorGetJob',
      summary: 'A job with its progress and results',
      allow: 'operators',
      answer: json.one('ProjectionJob'),
      handle: (api, { path }) => dataReply(jobView.show(jobOf(api, path.id))),
    },
    'DELETE /jobs/:id': {
      id: 'operatorCancelJob',
      summary: 'Cancel a job: what its reports do not name stays as it was',
      allow: 'operators',
      status: 202,
      answer: json.one('ProjectionJob', 'It ends soon.'),
      errors: [409],
      handle(api, { path, operator, req }) {
        const { id } = jobOf(api, path.id);
        if (!api.operator.jobs.cancel(id)) throw new ConflictError('The job has ended already.');
        api.log.info({ job: id, operator, ...req.context.ids }, 'an operator cancels work on read models');
        return dataReply(jobView.show(jobOf(api, id)));
      },
    },
  },
};
