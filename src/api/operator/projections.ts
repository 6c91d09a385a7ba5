/** Jobs of this process, on the rows of tenants and the event log: `/api/v1/operator/jobs`. */
import { z } from 'zod';
import { parseBody, shortText } from '../../commands/body.js';
import { ConflictError, ValidationError } from '../../commands/context.js';
import { isLogJob, JOB_KINDS, JOB_OUTCOMES, JOB_STATES, type Job, type JobRequest } from '../../projections/jobs.js';
import type { Api, ParkedView } from '../deps.js';
import { tooManyRequests } from '../errors.js';
import * as json from '../openapi/schema.js';
import { dataReply, pathText, type Resource } from '../routes/operation.js';

export const parkedView = json.view<ParkedView>({
  tenant: json.text,
  what: json.oneOf(['rows', 'directory']),
  since: json.timestamp,
  position: json.count,
  event_id: json.uuid,
  event_type: json.text,
  error: json.text,
});

const jobView = json.view<Job>({
  id: json.uuid,
  kind: json.oneOf(JOB_KINDS),
  tenant: json.nullableText,
  operator: json.text,
  state: json.oneOf(JOB_STATES),
  started_at: json.timestamp,
  ended_at: { type: ['string', 'null'], format: 'date-time' },
  progress: json.orNull(json.ref('JobProgress')),
  tenants_done: json.count,
  reports: [json.listOf(json.ref('JobReport')), ({ reports }) => reports.map((each) => ({ error: null, ...each }))],
  error: json.nullableText,
});

const jobSchemas: json.Schemas = {
  RowJob: jobView.schema,
  JobProgress: json.closedObject({ tenant: json.nullableText, tenants: json.count, done: json.count, of: json.count }),
  JobReport: json.closedObject({
    tenant: json.nullableText,
    outcome: json.oneOf(JOB_OUTCOMES),
    differences: json.listOf(json.closedObject({ space: json.text, kind: json.text, id: json.text })),
    error: json.nullableText,
  }),
};

const jobBody = z.strictObject({
  kind: z.enum(JOB_KINDS, `must be one of ${JOB_KINDS.join(', ')}.`),
  tenant: shortText.optional(),
});

/** @throws ValidationError for a tenant that does not exist */
function requestIn({ directory }: Api, body: unknown): JobRequest {
  const request = parseBody(jobBody, body);
  const invalid = (message: string) => new ValidationError({ tenant: [message] });
  if (request.tenant !== undefined && directory.tenant(request.tenant) === undefined)
    throw invalid(`There is no tenant ${request.tenant}.`);
  if (request.tenant !== undefined && isLogJob(request)) throw invalid('Name no tenant for the event log.');
  return request;
}

export const operatorProjections: Resource = {
  tag: 'projections',
  pathParameters: { id: pathText('id') },
  schemas: { Parked: parkedView.schema, ...jobSchemas },
  operations: {
    'GET /jobs': {
      id: 'listJobs',
      allow: 'operators',
      answer: json.all('RowJob'),
      handle: (api) => dataReply(api.operator.jobs.all().map(jobView.show)),
    },
    'POST /jobs': {
      id: 'startJob',
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
    'DELETE /jobs/:id': {
      id: 'cancelJob',
      allow: 'operators',
      status: 202,
      answer: json.one('RowJob', 'It ends soon.'),
      handle({ operator }, { path }) {
        const job = operator.jobs.cancel(path.id);
        if (job === undefined) throw new ConflictError(`No job ${path.id} is at work in this process.`);
        return dataReply(jobView.show(job));
      },
    },
  },
};
