/** Proofs for auditors: `/api/v1/platform/audit`. */
import { z } from 'zod';
import { ConflictError, NotFoundError } from '../../commands/context.js';
import { HttpError, unavailable } from '../errors.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';

const proofQuery = z.strictObject({
  event: z
    .guid('must be the id of an event.')
    .transform((id) => id.toLowerCase())
    .meta({ description: 'The `event_id` of an entry of the activity or of a history.' }),
});

/** Why an event has no proof. */
const UNPROVED = {
  unknown: (event: string) => new NotFoundError(`There is no event ${event} that could be shown.`),
  uncovered: () => new ConflictError('No checkpoint covers the event yet: ask again when the next one is signed.'),
  erased: () =>
    new ConflictError('The event has values that were erased: the operator can prove others, not this one.'),
  changed: () =>
    new HttpError(500, 'Internal server error.', 'The event is not what the checkpoint covers: tell the operator.'),
};

export const audit: Resource = {
  tag: 'platform: audit',
  schemas: { EventProof: json.closedObject({ leaf: json.text, proof: json.text }) },
  operations: {
    'GET /audit/proof': {
      id: 'platformGetEventProof',
      summary: 'Proves that an event is in the log, as a signed checkpoint says',
      description:
        'Programs in docs/snippets check the answer without this service, with the key that the operator gives: `dynamic-assets audit keys`. Events of users, API clients and webhooks hold secrets: no proof of them is given out. 503 while the service makes the tree.',
      allow: 'adminsAndAuditors',
      work: 'costly',
      query: parametersIn(proofQuery),
      answer: json.one('EventProof'),
      async handle({ proveEvent }, { tenant, query }) {
        const { event } = parseQuery(proofQuery, query);
        const found = await proveEvent(event, tenant.name);
        if (found === undefined) throw unavailable('The tree over the log is not made yet.');
        if (typeof found === 'string') throw UNPROVED[found](event);
        return dataReply(found);
      },
    },
  },
};
