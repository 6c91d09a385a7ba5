/**
 * What earlier releases wrote to the log is read. The fixture is the log of the release that told fields apart by their place: six
 * items, the last three of them with the custom field `grade`, a custom table, a unit code and an order. Its keys are not kept: a
 * start makes others. To it are added events that no release writes any more.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { newId } from '#app/commands/clock.js';
import { hashSecret } from '#app/commands/identity/secrets.js';
import { SCOPES } from '#app/domain/identity/scopes.js';
import { clientsStream, orderStream, tableStream } from '#app/domain/streams.js';
import { appendByHand } from './logEvent.js';
import { type CreatedTenant, Service } from './service.js';
import { type Query, TenantClient } from './tenant.js';

const FIXTURE = resolve('test/fixtures/dataDirectory');
const OLD = { code: 'old', value: 'Old' };
const ids = { unitCode: newId(), client: newId(), order: newId(), line: newId(), other: newId() };
const line = { table: 'dyn_order_line', id: ids.line };
const other = { table: 'dyn_order_line', id: ids.other, fields: { quantity: 7 } };
const quantity = (from: number, to: number) => ({ changes: { quantity: { from, to } } });
const notes = (from: string | null, to: string) => ({ changes: { notes: { from, to } } });
const created = { table: 'dyn_stock_order', fields: {}, status: 'saved', parts: [other] };
const [status, failed] = [
  { from: 'saved', to: 'saved' },
  { from: 'saved', to: 'submit_failed' },
];
const parts = { added: [], changed: [{ ...line, ...quantity(2, 3) }], removed: [other] };
const report = { status: failed, errorReason: ['No stock'] };
const edit = { ...notes('A', 'B'), ...parts, status: { from: 'submit_failed', to: 'saved' }, errorReason: null };
/** Earlier releases had a type for each kind of edit; the last is of this one. Each with how the history and the activity tell it. */
const edits: readonly (readonly [type: string, data: object, told: string, activity: string])[] = [
  ['OrderCreatedWithParts', created, '> saved: quantity >7', 'order.created 1+0-0'],
  ['OrderPartAdded', { ...line, fields: { quantity: 1 }, status }, 'saved > saved: quantity >1', 'order.part_added'],
  [
    'OrderPartChanged',
    { ...line, ...quantity(1, 2), status },
    'saved > saved: quantity 1>2',
    'order.part_changed quantity',
  ],
  ['OrderPartsChanged', { ...parts, status }, 'saved > saved: quantity 7> quantity 2>3', 'order.parts_changed 0+1-1'],
  ['OrderChanged', { ...notes(null, 'A'), status }, 'saved > saved: notes >A', 'order.changed notes'],
  ['OrderStatusChanged', report, 'saved > submit_failed: No stock', 'order.status_changed'],
  ['OrderEdited', edit, 'submit_failed > saved: notes A>B quantity 7> quantity 2>3', 'order.changed notes 0+1-1'],
];
let service: Service;
let acme: TenantClient;

const batchOf = (batchId: string, ...created: readonly object[]) => ({ batchId, created, changed: [], seen: '' });

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'stored-release-'));
  await writeFile(join(dataDir, 'events.db'), gunzipSync(await readFile(join(FIXTURE, 'events.db.gz'))));
  const append = (stream: string, type: string, data: object) =>
    appendByHand({ DATA_DIR: dataDir }, stream, type, data);
  const table = (name: string) => tableStream('acme', name);
  // Texts that are refused now.
  const client = { clientId: ids.client, name: 'a\0\ud800', scopes: SCOPES, secretHash: hashSecret('secret') };
  await append(clientsStream('acme'), 'ApiClientCreated', client);
  const unitCode = { id: ids.unitCode, fields: OLD };
  await append(table('dyn_unit_code'), 'BatchUpserted', batchOf('a\0\udc00', unitCode));
  for (const [type, data] of edits) await append(orderStream('acme', ids.order), type, data);

  // A create with a key, answered by a release that kept answers in the log.
  const kept: CreatedTenant = JSON.parse(await readFile(join(FIXTURE, 'tenant.json'), 'utf8'));
  const named = JSON.stringify(['client', kept.client.client_id, 'dyn_unit_code', 'earlier']);
  const keyStream = `request-acme.${createHash('sha256').update(named).digest('hex')}`;
  const body = createHash('sha256').update(JSON.stringify(OLD)).digest('base64url');
  await append(keyStream, 'RequestAccepted', { body, id: newId() });
  await append(keyStream, 'RequestAnswered', { id: ids.unitCode, record: { id: ids.unitCode, ...OLD } });

  service = new Service(dataDir, {});
  await service.start();
  acme = new TenantClient(service, kept, 'dyn_stock_order');
});
afterAll(async () => {
  await service.dispose();
  expect(service.loggedErrors).toEqual([]);
});

/** All that is refused while the read models are filled is refused with "try again". */
async function records(table: string, query: Query = {}) {
  for (;;) {
    const answer = await acme.getList(table, query);
    if (answer.status !== 503) return (await acme.list(table, query)).data;
  }
}

test('records are what they were', async () => {
  expect(await records('dyn_item', { sort: 'external_id' })).toMatchObject(
    [null, null, null, 'g4', 'g5', 'g6'].map((grade, n) => ({
      external_id: `A${n + 1}`,
      name: `Tea ${n + 1}`,
      sku: `sku-${n + 1}`,
      grade,
    })),
  );
  expect(await records('dyn_dock')).toMatchObject([{ code: 'D1' }]);
  expect(await records('dyn_stock_order')).toMatchObject([{ sales_order_id: 'S1' }, { notes: 'B' }]);
  expect(await records('dyn_unit_code', { sort: 'code' })).toMatchObject([{ code: 'old' }, { code: 'PCE' }]);
});

test('the history and the activity tell edits of an order as the releases did that wrote them', async () => {
  const entry = z.looseObject({
    event: z.string().optional(),
    kind: z.string().optional(),
    fields: z.array(z.string()).optional(),
    counts: z.record(z.string(), z.number()).nullish(),
    changes: z.array(z.object({ field: z.string(), from: z.unknown(), to: z.unknown() })).default([]),
    reasons: z.array(z.string()).default([]),
  });
  const list = async (path: string) =>
    z.object({ data: z.array(entry) }).parse((await acme.platform('GET', path)).body).data;
  const history = (await list(`/orders/${ids.order}/history`)).map(({ event, status_from, status_to, ...step }) => {
    const changes = step.changes.map(({ field, from, to }) => `${field} ${from ?? ''}>${to ?? ''}`);
    return [event, `${status_from ?? ''} > ${status_to}: ${[...changes, ...step.reasons].join(' ')}`.trim()];
  });
  const activity = (await list(`/activity?order_id=${ids.order}`)).map(({ kind, fields = [], counts }) =>
    [kind, ...fields, ...(counts ? [`${counts.created}+${counts.updated}-${counts.deleted}`] : [])].join(' '),
  );
  expect(history.map((step, n) => [...step, activity.at(-1 - n)])).toEqual(
    edits.map(([type, , ...told]) => [type.replace('Edited', 'Changed'), ...told]),
  );
  expect((await records('dyn_order_line')).map(({ quantity }) => quantity)).toEqual([3]);
});

test('they are changed, filtered by and synchronised as any other', async () => {
  await acme.batch('dyn_item', [{ external_id: 'A5', name: 'Tea 5', grade: 'g0' }]);
  const keys = async (query: Query) => (await acme.list('dyn_item', query)).data.map((item) => item.external_id);
  expect(await keys({ sort: '-grade,external_id' })).toEqual(['A6', 'A4', 'A5', 'A1', 'A2', 'A3']);
  expect(await keys({ 'filter[grade]': 'G6' })).toEqual(['A6']);
  const unitCode = { code: 'old', value: 'New', _batch_id: 'b' };
  expect(await acme.batch('dyn_unit_code', [unitCode])).toMatchObject({ updated: 1 });
  expect(await acme.cleanUp('dyn_unit_code', 'b')).toMatchObject({ deleted: 1 });
});

test('a request with an Idempotency-Key is answered as it was then', async () => {
  const send = (body: object) => acme.postRecord('dyn_unit_code', body, { headers: { 'idempotency-key': 'earlier' } });
  const answer = await send(OLD);
  expect(answer).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
  expect(answer.body).toMatchObject({ data: { id: ids.unitCode, ...OLD } });
  expect((await send({ ...OLD, value: 'Another' })).status).toBe(422);
});

test('texts that no engine keeps as they are: a client of such a name gets tokens', async () => {
  const clients = z
    .array(z.looseObject({ client_id: z.string() }))
    .parse(await acme.platformData('GET', '/api-clients'));
  expect(clients.map(({ client_id }) => client_id)).toContain(ids.client);
  const body = { grant_type: 'client_credentials', client_id: ids.client, client_secret: 'secret' };
  expect((await acme.requestToken(body)).status).toBe(200);
});

test('what was done before is shown with the names of clients who are there, which its events lack', async () => {
  const first = (body: unknown) =>
    z.object({ data: z.tuple([z.looseObject({ actor: z.unknown() })], z.unknown()) }).parse(body).data[0];
  const [order] = (await acme.list('dyn_stock_order')).data;
  const client = acme.client.client_id;
  const shown = { actor: { kind: 'client', id: client, name: 'First API client' } };
  for (const path of ['/tables/dyn_item/operations', `/orders/${order?.id}/history`])
    expect(first((await acme.platform('GET', path)).body)).toMatchObject(shown);
});
