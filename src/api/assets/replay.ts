/** The replay of an order, for clients that audit and for users. */
import type { Request } from 'express';
import { z } from 'zod';
import { tenantOf } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { AUDIT_SCOPE } from '../../domain/identity/scopes.js';
import { MAX_HISTORY_PAGE_BYTES, MAX_REPLAY_STEPS } from '../../domain/limits.js';
import { orderStream } from '../../domain/streams.js';
import type { Api } from '../deps.js';
import { notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import { type ReplayPlace, type ReplaySource, replaySteps } from '../replay/steps.js';
import { replayPage, replaySchemas, stepsShown } from '../replay/text.js';
import { RECORD_ID, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { untilShown } from '../shownSoon.js';
import { requestUrl } from '../tenantHost.js';
import { unknownRecord } from './records.js';

const query = z.strictObject({
  cursor: z
    .string()
    .regex(/^\d{1,15}(\.\d{1,16})?$/, 'must be that of a link to the next page.')
    .optional()
    .describe('That of a link to the next page.'),
});

/** Documentation of a replay, for clients and users. */
export const orderReplay = {
  work: 'costly',
  summary: 'All that happened to an order, with the deliveries that it led to',
  description: `Each event, oldest first, with its changes, the problems that the order had then, and its deliveries with all attempts. \`at=\` with the \`position\` of a step shows the whole order as it was. Deliveries that ended longer ago than the delivery log goes back are not shown. A page has at most ${MAX_HISTORY_PAGE_BYTES} bytes, or one step.`,
  query: parametersIn(query),
  answer: json.linkedPage('ReplayStep', MAX_REPLAY_STEPS),
} as const;

/** Where the parts of a replay come from. */
export const replaySource = ({ commands, queries }: Api, tenant: string): ReplaySource => ({
  eventStore: commands.eventStore,
  orders: commands.orders,
  find: (table, key, values) => commands.queries.records.find({ tenant, table }, key, values),
  deliveriesOfOrder: (...asked) => queries.deliveries.ofOrder(...asked),
});

function placeIn(cursor: string | undefined): ReplayPlace {
  const [revision = '0', behind] = cursor?.split('.') ?? [];
  return { revision: Number(revision), ...(behind === undefined ? {} : { behind: Number(behind) }) };
}

const cursorOf = ({ revision, behind }: ReplayPlace): string =>
  behind === undefined ? String(revision) : `${revision}.${behind}`;

/** A page as JSON text; undefined if the tenant has no such order. */
export async function replayReply(
  api: Api,
  req: Request,
  tenant: Tenant,
  orderId: string,
  parameters: URLSearchParams,
): Promise<string | undefined> {
  const { cursor } = parseQuery(query, parameters);
  await untilShown(api, tenant.name);
  const source = replaySource(api, tenant.name);
  const cancellation = req.context.deadline;
  const steps = replaySteps(source, { tenant, orderId, from: placeIn(cursor), cancellation });
  const page = await replayPage(steps, stepsShown(source, tenant, cancellation).text);
  const stream = orderStream(tenant.name, orderId);
  if (page.steps.length === 0 && (await api.commands.eventStore.lastAppend(stream)) === undefined) return undefined;
  const next = page.next === undefined ? null : `${requestUrl(req, api.config)}?cursor=${cursorOf(page.next)}`;
  return `{"data":[${page.steps.join()}],"links":${JSON.stringify({ next })}}`;
}

export const clientReplay: Resource = {
  tag: 'assets',
  pathParameters: { id: RECORD_ID },
  schemas: replaySchemas,
  operations: {
    'GET /:table/assets/:id/replay': {
      id: 'replayOrder',
      ...orderReplay,
      allow: AUDIT_SCOPE,
      isOffered: ({ role }) => role === 'order',
      async handle(api, { req, caller, assetType, path, query: parameters }) {
        if (assetType.role !== 'order') throw notFound(`Only orders have a replay; ${assetType.name} has none.`);
        const id = path.id.toLowerCase();
        const body = await replayReply(api, req, tenantOf(api.commands, caller.tenant), id, parameters);
        if (body === undefined) throw unknownRecord(assetType, id);
        return { body };
      },
    },
  },
};
