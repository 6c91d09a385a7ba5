/**
 * Tables for people: `/api/v1/platform/tables`. All roles read them, validators change parts of orders, and admins do what
 * integrators do with reference tables, and delete single records. What API clients do as well has their handlers.
 */
import { NotSupportedError } from '../../commands/context.js';
import type { SpaceState } from '../../ports/rowStore.js';
import { compare } from '../assets/compare.js';
import { history } from '../assets/history.js';
import { assetInfo } from '../assets/info.js';
import { CURSOR, LIST_PARAMETERS, SEARCH } from '../assets/listQuery.js';
import { AT } from '../assets/moments.js';
import { records } from '../assets/records.js';
import { BATCH_EXAMPLE, batchOf, synchronization } from '../assets/synchronize.js';
import { tableOperations } from '../assets/tableOperations.js';
import * as json from '../openapi/schema.js';
import { EDIT, listReply, type Operation, pathText, READ, type Resource, WRITE } from '../routes/operation.js';

const TAG = 'tables';

/** Who does what clients need such a scope for. */
const FOR_PEOPLE = new Map<Operation['allow'], Operation['allow']>([
  [READ, 'users'],
  [WRITE, EDIT],
  ['write:reference_data', 'admins'],
]);

const anyFields: json.JsonSchema = { type: 'object' };

/** What the document says of any table, in place of what it says to clients of each. */
const DESCRIBED: { readonly [route: string]: Partial<Operation> } = {
  'GET /:table/assets': { query: [SEARCH, ...LIST_PARAMETERS, CURSOR, AT] },
  'POST /:table/assets/batch': {
    body: { limit: 'batch', schema: batchOf({ ...anyFields, additionalProperties: true }), example: BATCH_EXAMPLE },
  },
  'POST /:table/assets': { body: { limit: 'record', schema: anyFields, example: { quantity: 3 } } },
  'PUT /:table/assets/:id': { body: { limit: 'record', schema: anyFields, example: { quantity: 4 } } },
  'DELETE /:table/assets/:id': {
    summary: 'Delete a record of a reference table, or remove a part of an order with the parts that belong to it',
    headers: ['if-match'],
  },
};

/** Operations of API clients on tables, for people: below `/tables`. */
function forPeople({ operations, pathParameters }: Resource): Resource {
  const shared = Object.entries(operations).flatMap(([route, { tables: _, handle, ...operation }]) => {
    const allow = FOR_PEOPLE.get(operation.allow);
    if (allow === undefined) return [];
    const forUser: Operation = {
      ...operation,
      ...DESCRIBED[route],
      allow,
      handle(api, call, cancellation) {
        const { name, role } = call.assetType;
        if (allow === EDIT && role === 'order')
          throw new NotSupportedError(
            `Records of ${name} are not written here.`,
            'Orders are changed at /orders here.',
          );
        return handle(api, call, cancellation);
      },
    };
    return [[route.replace(' /', ' /tables/'), forUser] as const];
  });
  const parameters = { table: pathText('table'), ...pathParameters };
  return { tag: TAG, pathParameters: parameters, operations: Object.fromEntries(shared) };
}

/** `state` is undefined before the first write. */
type Summarized = { readonly name: string; readonly state: SpaceState | undefined };

const tableSummary = json.view<Summarized>({
  name: json.text,
  records: [json.count, ({ state }) => state?.rows ?? 0],
  last_written_at: [json.orNull(json.timestamp), ({ state }) => state?.lastEventAt || null],
});

const ofPeople: Resource = {
  tag: TAG,
  schemas: { TableSummary: tableSummary.schema },
  operations: {
    'GET /tables': {
      id: 'listTables',
      summary: 'All tables, with their number of records and the time of the last write',
      allow: 'users',
      answer: json.all('TableSummary'),
      async handle({ rows }, { tenant }) {
        const spaces = await rows.spaces(tenant.name);
        return listReply(tenant.assetTypes.keys(), (name) =>
          tableSummary.show({ name, state: spaces?.get(name)?.state }),
        );
      },
    },
  },
};

/** A batch comes before `assets/:id`, which would match it. */
export const tables: readonly Resource[] = [
  ofPeople,
  ...[synchronization, tableOperations, compare, history, assetInfo, records].map(forPeople),
];
