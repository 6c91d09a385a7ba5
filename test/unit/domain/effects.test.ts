/** What each event does to rows. What it tells of activity: activity.test.ts. */
import { stockModel } from '#app/domain/assetTypes/standardTables.js';
import { effectsOf } from '#app/domain/effects.js';
import { eventTypes } from '#app/domain/eventTypes.js';
import { upcast } from '#app/domain/order/events.js';
import { packIds } from '#app/domain/referenceTable/events.js';
import { SERVICE_SPACES } from '#app/domain/spaces.js';

const uuid = (n: number): string => `0198c1f2-0000-7000-8000-00000000000${n}`;
const [ORDER, PART, TEA, MINT] = [1, 2, 3, 4].map(uuid) as [string, string, string, string];
const AT = '2026-11-21T03:11:47.123456Z';
const STREAMS = {
  tenant: 'tenant-acme',
  item: 'table-acme.dyn_item',
  order: `order-acme.${ORDER}`,
  delivery: `delivery-acme.${PART}`,
  sync: 'sync-acme.dyn_item',
  erasures: 'log-erasures',
  users: 'users-acme',
  request: `request-acme.${TEA.replaceAll('-', '')}0123`,
};
const known = { orderModel: 'dyn_stock_order', assetTypes: new Map(stockModel.map((type) => [type.name, type])) };

const eventOf = (stream: keyof typeof STREAMS, type: string, data: unknown) => ({
  stream: STREAMS[stream],
  type,
  data,
  id: uuid(9),
  revision: 4,
  position: 70,
  metadata: {
    tenant: 'acme',
    occurredAt: AT,
    actor: { kind: 'client', id: 'c', name: 'ERP' },
    correlationId: '',
    causationId: '',
  },
});
const rowsOf = (stream: keyof typeof STREAMS, type: string, data: unknown) =>
  effectsOf(upcast(eventOf(stream, type, data)), known).rows;

const field = { name: 'shade', label: 'Shade', type: 'String', required: false, filterable: true, sortable: true };
const stayed = { from: 'saved', to: 'saved' };
const order = (set: object) => ({ kind: 'patch', space: 'dyn_stock_order', id: ORDER, set });
const tea = (set: object, more: object = {}) => ({ kind: 'patch', space: 'dyn_item', id: TEA, set, ...more });
const created = (space: string, id: string, fields: object, batch: string | null = null) => {
  return { kind: 'create', space, id, batch, fields };
};
const part = { table: 'dyn_order_line', id: PART, fields: { quantity: 1 } };
const changedPart = { table: 'dyn_order_line', id: PART, changes: { quantity: { from: 1, to: 2 } } };
const patchedPart = { kind: 'patch', space: 'dyn_order_line', id: PART, set: { quantity: 2 }, was: { quantity: 1 } };
const delivery = (set: object, attempt?: object) => ({
  kind: 'patch',
  space: 'deliveries',
  id: PART,
  set: { ...set, revision: 4 },
  ...(attempt && { merge: { field: 'attempts', member: '5', with: attempt } }),
});
const session = `sync-session-${TEA}`;

/** Their rows are compared with the domain in test/property/rows.test.ts, or seen through HTTP by all of test/acceptance. */
const SEEN_ELSEWHERE = [
  'AssetTableAdded',
  'AssetFieldRetired',
  'RecordDeleted',
  'DeliveryRequested',
  'DeliveryAttemptStarted',
  'DeliverySucceeded',
  'DeliveryFailed',
  'SyncStarted',
  'SyncCommitted',
  'OrderCreatedWithParts',
  'OrderCreated',
  'OrderEdited',
  'OrderChanged',
  'OrderPartAdded',
  'OrderPartChanged',
  'OrderStatusChanged',
  'OrderApproved',
  'OrderRejected',
  'OrderExportFailed',
  'OrderExportDelivered',
  'BatchUndone',
  'TableCleanedUp',
];

type Case = readonly [type: string, stream: keyof typeof STREAMS, data: unknown, rows: readonly unknown[]];
const cases: readonly Case[] = [
  ['AssetFieldAdded', 'tenant', { table: 'dyn_gone', field }, []],
  ['TenantDeleted', 'tenant', { name: 'acme' }, []],
  ['RecordCreated', 'item', { id: TEA.toUpperCase(), fields: {} }, [created('dyn_item', TEA, {})]],
  [
    'RecordChanged',
    'item',
    { id: TEA, set: { name: 'Tea', brand_name: null }, was: [null, 'X'] },
    [tea({ name: 'Tea', brand_name: null })],
  ],
  [
    'BatchUpserted',
    'item',
    {
      batchId: 'two',
      created: [{ id: ORDER, fields: { name: 'New' } }],
      changed: [{ id: TEA, set: { name: 'Tea' }, was: ['tea'] }],
      seen: packIds([MINT, PART]),
      from: [
        [2, 'one'],
        [1, null],
      ],
    },
    [
      created('dyn_item', ORDER, { name: 'New' }, 'two'),
      tea({ name: 'Tea' }, { batch: 'two' }),
      { kind: 'touch', space: 'dyn_item', ids: [MINT, PART], batch: 'two' },
    ],
  ],
  // An event of an earlier release, whose items name no batch.
  [
    'BatchUpserted',
    'item',
    { batchId: null, created: [], changed: [], seen: packIds([MINT]) },
    [{ kind: 'touch', space: 'dyn_item', ids: [MINT], batch: null }],
  ],
  ['BatchUpserted', 'item', { created: [], changed: [{ id: TEA, set: {} }], seen: '' }, [tea({})]],
  [
    'OrderPartsChanged',
    'order',
    { status: stayed, added: [{ ...part, id: TEA }], changed: [changedPart], removed: [{ ...part, id: MINT }] },
    [
      { kind: 'delete', space: 'dyn_order_line', id: MINT, was: { quantity: 1 } },
      patchedPart,
      created('dyn_order_line', TEA, { quantity: 1 }),
      order({ processing_status: 'saved' }),
    ],
  ],
  ['OrderExportHeld', 'order', { status: stayed, warning: {} }, []],
  [
    'DeliveryAttemptFailed',
    'delivery',
    { attempt: 5, status: 500, durationMs: 2, reason: 'HTTP 500', responseBody: 'no', notSent: true },
    [
      delivery(
        { retry_at: null, state: 'failed', ended_at: AT, ended: 70, reason: 'HTTP 500' },
        { status: 500, durationMs: 2, reason: 'HTTP 500', responseBody: 'no', endedAt: AT, position: 70 },
      ),
    ],
  ],
  ['SyncFailed', 'sync', { id: session, reason: 'no', keys: ['A'] }, []],
  ['SyncClosed', 'sync', { id: session, after: 8 }, []],
  [
    'ErasureRecorded',
    'erasures',
    { tenant: 'acme', table: 'dyn_item', id: TEA, stream: STREAMS.item, until: 3, fields: { name: 'erased' } },
    [{ kind: 'redact', space: 'dyn_item', id: TEA, fields: { name: 'erased' } }],
  ],
  ['ErasureRecorded', 'erasures', { tenant: 'acme', userId: 7 }, []],
  [
    'RequestAccepted',
    'request',
    { body: 'hash', id: MINT, after: 3 },
    [created('keys', TEA, { body: 'hash', subject: MINT, used_at: AT })],
  ],
  [
    'RequestAnswered',
    'request',
    { id: MINT, record: { id: MINT, name: 'Mint' }, lists: { lines: [] } },
    [{ kind: 'patch', space: 'keys', id: TEA, set: { subject: MINT, position: 70, counts: '{}' } }],
  ],
  [
    'RequestAnswered',
    'request',
    { counts: { created: 2 }, operationId: '4', differences: [] },
    [
      {
        kind: 'patch',
        space: 'keys',
        id: TEA,
        set: { position: 70, counts: '{"created":2,"operationId":"4","differences":[]}' },
      },
    ],
  ],
];

test.each(cases)('%s', (type, stream, data, rows) => {
  expect(rowsOf(stream, type, data)).toEqual(rows);
});

test.each([
  ['item', 'RecordCreated', { id: MINT, fields: {} }, { subject: MINT, counts: '{}' }, {}],
  ['order', 'OrderCreated', { table: 'dyn_stock_order', fields: {}, status: 'saved' }, { subject: ORDER }, {}],
  ['order', 'OrderPartAdded', { ...part, status: stayed }, { subject: PART }, {}],
  ['item', 'TableCleanedUp', { batchId: 'b', deleted: 2 }, { counts: '{"deleted":2}' }, { counts: { deleted: 2 } }],
] as const)('an event of %s with an Idempotency-Key notes its use: %s', (stream, type, data, use, more) => {
  const event = upcast(eventOf(stream, type, data));
  const key = { id: TEA, body: 'hash', ...more };
  const keyed = effectsOf({ ...event, metadata: { ...event.metadata, key } }, known);
  const [noted] = keyed.rows.slice(-1);
  const fields = { body: 'hash', subject: null, revision: 4, position: 70, counts: '{}', used_at: AT, ...use };
  expect(noted).toEqual(created('keys', TEA, fields));
  expect(keyed.activity).toEqual(effectsOf(event, known).activity);
});

test('the clean-up of a sync session is noted by the session', () => {
  const [, ended] = rowsOf('item', 'TableCleanedUp', { batchId: session, deleted: 2 });
  expect(ended).toEqual({ kind: 'patch', space: 'syncs', id: TEA, set: { deleted: 2, operation_id: '4' } });
});

test('a tenant begins with the tables of its model and the spaces of the service', () => {
  const defined = rowsOf('tenant', 'TenantCreated', { name: 'acme', displayName: '', orderModel: 'dyn_stock_order' });
  expect(defined).toEqual(
    [...stockModel, ...SERVICE_SPACES.values()].map((assetType) => ({ kind: 'define', assetType })),
  );
});

test('every other type makes no rows', () => {
  const [of, tested] = [
    (type: string) => (/^Quotas|^Rate|^Clean|^Data/.test(type) ? 'tenant' : 'users'),
    cases.map(([type]) => type),
  ] as const;
  const others = Object.keys(eventTypes).filter(
    (type) => ![...tested, ...SEEN_ELSEWHERE, 'TenantCreated'].includes(type),
  );
  const data = { id: TEA, userId: 7, fields: [], orderId: ORDER };
  for (const type of others) expect([type, rowsOf(of(type), type, data)]).toEqual([type, []]);
  expect(others.filter((type) => /^(Record|Batch|Table|Sync|Order|Delivery)/.test(type))).toEqual(['OrderExported']);
});
