/** Fields with names that every object of JavaScript has: no new ones, and those of an earlier release are fields like any other. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { RecordText } from '#app/adapters/readmodels/shared/recordText.js';
import type { AssetField, AssetType } from '#app/domain/assetTypes/assetType.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import type { ReferenceTableEvent } from '#app/domain/referenceTable/events.js';
import { tableStream, tenantStream } from '#app/domain/streams.js';
import { expectInvalid } from '../acceptance/refusals.js';
import { type Service, startService } from '../acceptance/service.js';
import type { TenantClient } from '../acceptance/tenant.js';
import { metadata } from '../contract/eventStoreFixtures.js';

const TENANT = 'acme';
const NAME = 'constructor';
const field = (more: Partial<AssetField>): AssetField => ({
  name: NAME,
  label: 'Constructor',
  type: 'String',
  required: false,
  filterable: false,
  sortable: false,
  custom: true,
  ...more,
});
const keyed: AssetType = {
  name: 'dyn_keyed',
  label: 'Keyed',
  description: '',
  supportingData: true,
  role: 'reference',
  uniqueField: NAME,
  fields: [field({ required: true, filterable: true, sortable: true }), field({ name: 'colour' })],
  relationships: [],
  custom: true,
};

/** As the release before appended them. */
async function append(
  { dataDir }: Service,
  stream: string,
  ...events: readonly (DirectoryEvent | ReferenceTableEvent)[]
): Promise<void> {
  const store = await openSqliteEventStore({ file: join(dataDir, 'events.db') });
  const toStore = events.map(({ type, data }) => ({
    id: randomUUID(),
    type,
    data,
    metadata: { ...metadata, tenant: TENANT },
  }));
  await store.append(stream, toStore, 'any');
  await store.close();
}

let service: Service;
let acme: TenantClient;
const ids = { item: randomUUID(), other: randomUUID(), party: randomUUID(), keyed: randomUUID() };

beforeAll(async () => {
  service = await startService({ tenants: { [TENANT]: 'dyn_stock_order' } });
  acme = service.tenant(TENANT);
  await service.stop();
  const added = (table: string, more: Partial<AssetField>): DirectoryEvent => ({
    type: 'AssetFieldAdded',
    data: { table, field: field(more) },
  });
  await append(
    service,
    tenantStream(TENANT),
    added('dyn_item', { filterable: true, sortable: true }),
    added('dyn_party', {}),
    { type: 'AssetTableAdded', data: { assetType: keyed } },
  );
  const itemOf = (id: string, key: string, more: object) => ({ id, fields: { external_id: key, name: key, ...more } });
  await append(
    service,
    tableStream(TENANT, 'dyn_item'),
    { type: 'RecordCreated', data: itemOf(ids.item, 'A1', {}) },
    {
      type: 'BatchUpserted',
      data: { batchId: 'b', created: [itemOf(ids.other, 'A2', { [NAME]: 'Gaudí' })], changed: [], seen: '' },
    },
  );
  await append(service, tableStream(TENANT, 'dyn_party'), {
    type: 'RecordCreated',
    data: itemOf(ids.party, 'P1', {}),
  });
  await append(service, tableStream(TENANT, keyed.name), {
    type: 'RecordCreated',
    data: { id: ids.keyed, fields: { [NAME]: 'K1' } },
  });
  await service.start();
});

afterAll(async () => {
  await service.dispose();
  expect(service.loggedErrors).toEqual([]);
});

describe('a log that has a field named constructor', () => {
  it.each(['as it is', 'after a rebuild'])('is shown right: %s', async (when) => {
    if (when === 'after a rebuild') expect((await service.cli('projections', 'rebuild')).code).toBe(0);
    expect(await acme.get('dyn_item', ids.item)).toMatchObject({ external_id: 'A1', [NAME]: null });
    expect(await acme.get('dyn_party', ids.party)).toMatchObject({ external_id: 'P1', [NAME]: null });
    const items = await acme.list('dyn_item', { sort: `-${NAME}` });
    expect(items.data.map((item) => item[NAME])).toEqual(['Gaudí', null]);
    expect((await acme.list('dyn_item', { [`filter[${NAME}]`]: 'gaud' })).data.map(({ id }) => id)).toEqual([
      ids.other,
    ]);
    expect((await acme.list('dyn_party')).data.map((party) => party[NAME])).toEqual([null]);
    expect((await acme.list(keyed.name)).data).toMatchObject([{ id: ids.keyed, [NAME]: 'K1', colour: null }]);
  });

  it('takes records with it and without it', async () => {
    const without = await acme.create('dyn_item', { external_id: 'B1', name: 'B1' });
    expect(without).toMatchObject({ [NAME]: null });
    expect(await acme.update('dyn_item', without.id, { name: 'B2' })).toMatchObject({ name: 'B2', [NAME]: null });
    expect(await acme.update('dyn_item', without.id, { [NAME]: 'x' })).toMatchObject({ [NAME]: 'x' });
    const batch = await acme.batch('dyn_party', [
      { external_id: 'P1', name: 'P1', [NAME]: null },
      { external_id: 'P2', name: 'P2', [NAME]: 'new' },
      { external_id: 'P3', name: 'P3' },
    ]);
    expect(batch).toMatchObject({ created: 2, updated: 0, unchanged: 1 });
    expect((await acme.list('dyn_party', { sort: 'external_id' })).data.map((party) => party[NAME])).toEqual([
      null,
      'new',
      null,
    ]);
  });

  it('a table has it as its unique field', async () => {
    expect(await acme.update(keyed.name, ids.keyed, { colour: 'red' })).toMatchObject({ [NAME]: 'K1', colour: 'red' });
    await expectInvalid(service, [NAME], () => acme.postRecord(keyed.name, { colour: 'red' }));
    await expectInvalid(service, [NAME], () => acme.postRecord(keyed.name, { [NAME]: 'K1' }));
    expect(await acme.batch(keyed.name, [{ [NAME]: 'K1' }, { [NAME]: 'K2' }])).toMatchObject({
      created: 1,
      unchanged: 1,
    });
  });

  it('has a schema, and the examples of its webhooks, in which the field is one like any other', async () => {
    const info = await acme.info('dyn_item');
    expect(info.text).toContain(`"name":"${NAME}"`);
    const document = await service.send({ method: 'GET', path: '/openapi.json', headers: { host: acme.host } });
    expect(document.status).toBe(200);
    expect(() => JSON.parse(document.text)).not.toThrow();
  });
});

describe('a new field', () => {
  it.each([...Object.getOwnPropertyNames(Object.prototype), 'prototype'])('cannot be named %s', async (name) => {
    const added = { name, type: 'String' };
    await expectInvalid(service, ['name'], () =>
      acme.platform('POST', '/asset-types/dyn_item/fields', { body: added }),
    );
    const table = { name: 'dyn_own', unique_field: 'code', fields: [{ name: 'code', type: 'String', required: true }] };
    await expectInvalid(service, ['fields.1.name'], () =>
      acme.platform('POST', '/asset-types', { body: { ...table, fields: [...table.fields, added] } }),
    );
  });
});

it('a text of an earlier release that says undefined where there is no value is read as null', () => {
  const text = new RecordText({ ...keyed, fields: [field({}), field({ name: 'colour' }), field({ name: 'later' })] });
  const tricky = JSON.stringify('"constructor":undefined');
  const stored = `"constructor":undefined,"colour":${tricky}`;
  expect(text.fields(2, stored)).toEqual({ constructor: null, colour: '"constructor":undefined', later: null });
});
