/** The rows of tenants: how far they are, which are parked, and work on them: `/api/v1/operator/projections`, `/parked` and `/jobs`. */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { ConflictError, ValidationError } from '../../commands/context.js';
import { KEPT_OPERATOR_WORK, MAX_SHORT_PAGE, MAX_STRING_LENGTH } from '../../domain/limits.js';
import { JOB_KINDS, JOB_OUTCOMES, JOB_STATES, type JobRequest, type RowJob } from '../../ports/rowJobs.js';
import type { Api } from '../deps.js';
import { notFound, tooManyRequests } from '../errors.js';
import * as json from '../openapi/schema.js';
import { dataReply, pathText, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { pageAfter, pageQuery, pageReply } from './pages.js';
import type { ParkedView, ProjectionView } from './parts.js';

export const parkedView = json.view<ParkedView>({
  tenant: json.text,
  what: { ...json.oneOf(['rows', 'directory']), description: 'directory: nothing of the tenant is served.' },
  since: json.timestamp,
  position: { ...json.count, description: 'Of the event that could not be applied.' },
  event_id: json.uuid,
  event_type: json.text,
  error: json.text,
});

const projectionView = json.view<ProjectionView>({
  head: { ...json.count, description: 'Position of the last event in the log.' },
  position: { ...json.count, description: 'The rows of all tenants are made up to here, but for those below.' },
  behind: [{ ...json.count, description: 'Positions.' }, ({ head, position }) => Math.max(0, head - position)],
  rate: { type: ['number', 'null'], description: 'Positions a second since an earlier request; null: none yet.' },
  seconds: [
    { ...json.count, description: 'Age of the oldest event that the rows of a tenant lack.' },
    ({ tenantsBehind: [first] }) => first?.seconds ?? 0,
  ],
  tenants_behind: json.listOf(json.closedObject({ tenant: json.text, seconds: json.count })),
  filling: { ...json.count, description: 'Tenants whose rows are made from the beginning, and not shown.' },
});

const jobView = json.view<RowJob>({
  id: json.uuid,
  kind: json.oneOf(JOB_KINDS),
  tenant: { ...json.nullableText, description: 'null: all.' },
  operator: json.text,
  state: json.oneOf(JOB_STATES),
  started_at: json.timestamp,
  ended_at: { type: ['string', 'null'], format: 'date-time' },
  progress: [
    json.orNull(json.ref('JobProgress')),
    ({ progress }) =>
      progress === undefined
        ? null
        : { tenant: progress.tenant, tenants: progress.tenants, done: progress.done, of: progress.of },
  ],
  tenants_done: json.count,
  rows: json.count,
  reports: [
    { ...json.listOf(json.ref('JobReport')), description: 'What is not good comes first; the others may be left out.' },
    ({ reports }) => reports.map((each) => ({ error: null, ...each })),
  ],
  error: { ...json.nullableText, description: 'Why it failed.' },
});

const jobSchemas: json.Schemas = {
  RowJob: jobView.schema,
  JobProgress: json.closedObject({
    tenant: { ...json.text, description: 'The one at work.' },
    tenants: json.count,
    done: { ...json.count, description: 'A position of the log.' },
    of: json.count,
  }),
  JobReport: json.closedObject({
    tenant: json.text,
    outcome: json.oneOf(JOB_OUTCOMES),
    position: json.count,
    rows: json.count,
    seconds: { type: 'number' },
    differences: json.listOf(json.closedObject({ space: json.text, kind: json.text, id: json.text, is: json.text })),
    more: { ...json.count, description: 'Differences beside those listed.' },
    error: json.nullableText,
  }),
};

const jobBody = z.strictObject({
  kind: z.enum(JOB_KINDS, `must be one of ${JOB_KINDS.join(', ')}.`),
  tenant: z.string('must be a string.').max(MAX_STRING_LENGTH, 'is too long.').optional(),
});

/** @throws HttpError 404 */
function jobOf(api: Api, id: string): RowJob {
  const job = api.operator.jobs.all().find((each) => each.id === id);
  if (job === undefined) throw notFound(`This process knows no job ${id}.`);
  return job;
}

/** @throws ValidationError for a tenant that does not exist */
function requestIn({ directory }: Api, body: unknown): JobRequest {
  const request = parseBody(jobBody, body);
  const invalid = (message: string) => new ValidationError({ tenant: [message] });
  if (request.tenant !== undefined && directory.tenant(request.tenant) === undefined)
    throw invalid(`There is no tenant ${request.tenant}.`);
  if (request.tenant === undefined && request.kind === 'retry') throw invalid('The tenant field is required.');
  return request;
}

export const operatorProjections: Resource = {
  tag: 'operator: projections',
  pathParameters: { id: pathText('id') },
  schemas: { Parked: parkedView.schema, Projection: projectionView.schema, ...jobSchemas },
  operations: {
    'GET /projections': {
      id: 'operatorGetProjection',
      summary: 'How far the rows of tenants are, and which tenants are behind',
      allow: 'operators',
      work: 'costly',
      answer: json.one('Projection'),
      handle: async ({ operator }) => dataReply(projectionView.show(await operator.projection())),
    },
    'GET /parked': {
      id: 'operatorListParked',
      summary: 'Tenants that are parked, each with the event and the error',
      allow: 'operators',
      query: parametersIn(pageQuery),
      answer: json.linkedPage('Parked', MAX_SHORT_PAGE),
      async handle(api, call) {
        const { search = '', after } = parseQuery(pageQuery, call.query);
        const keyOf = ({ tenant, what }: ParkedView): string => `${tenant}.${what}`;
        const found = api.operator
          .parked()
          .filter(({ tenant }) => tenant.includes(search.toLowerCase()))
          .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
        const { entries, next } = pageAfter(found, keyOf, after);
        return pageReply(api, call, entries.map(parkedView.show), next);
      },
    },
    'GET /jobs': {
      id: 'operatorListJobs',
      summary: `Rebuilds, verifications and retries that this process was asked for: the one at work, and the last ${KEPT_OPERATOR_WORK} that ended`,
      allow: 'operators',
      answer: json.all('RowJob'),
      handle: (api) => dataReply(api.operator.jobs.all().map(jobView.show)),
    },
    'POST /jobs': {
      id: 'operatorStartJob',
      summary: 'Rebuild or verify the rows of a tenant or of all, or retry a parked one',
      description:
        'A rebuild fills a copy from the log and swaps it in; a verification compares such a copy and changes nothing. No webhook is sent again. A job ends with its process.',
      allow: 'operators',
      body: json.bodyOf(jobBody, { kind: 'verify', tenant: 'acme' }),
      status: 202,
      answer: json.one('RowJob', 'It has begun.'),
      handle(api, { body, operator }) {
        const job = api.operator.jobs.start(requestIn(api, body), operator);
        if (job === undefined) throw tooManyRequests('Another job is at work.', 5);
        return dataReply(jobView.show(job));
      },
    },
    'GET /jobs/:id': {
      id: 'operatorGetJob',
      summary: 'A job with its progress and results',
      allow: 'operators',
      answer: json.one('RowJob'),
      handle: (api, { path }) => dataReply(jobView.show(jobOf(api, path.id))),
    },
    'DELETE /jobs/:id': {
      id: 'operatorCancelJob',
      summary: 'Cancel a job: what its reports do not name stays as it was',
      allow: 'operators',
      status: 202,
      answer: json.one('RowJob', 'It ends soon.'),
      errors: [409],
      handle(api, { path, operator, req }) {
        const { id } = jobOf(api, path.id);
        if (!api.operator.jobs.cancel(id)) throw new ConflictError('The job has ended already.');
        api.log.info({ job: id, operator, ...req.context.ids }, 'an operator cancels work on rows');
        return dataReply(jobView.show(jobOf(api, id)));
      },
    },
  },
};
