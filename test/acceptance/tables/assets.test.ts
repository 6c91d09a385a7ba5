/** Which assets there are, and what is told about them (spec §1, §2.1, §4.1, §4.2). */
import { z } from 'zod';
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { expectRefused } from '../refusals.js';
import { fullestRecord, infoOf, smallestRecord } from '../samples.js';
import { ASSETS, type TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');

type Row = readonly [table: string, supportingData: boolean, uniqueField: string | null];
const STOCK: readonly Row[] = [
  ['dyn_stock_order', false, null],
  ['dyn_order_line', false, null],
  ['dyn_item', true, 'external_id'],
  ['dyn_party', true, 'external_id'],
  ['dyn_unit_code', true, 'code'],
  ['dyn_item_units_of_measure', true, 'external_id'],
  ['dyn_party_items', true, 'external_id'],
  ['dyn_order_history', true, 'external_id'],
];
const TRANSPORT: readonly Row[] = [
  ['dyn_transport_order', false, null],
  ['dyn_consignment', false, null],
  ['dyn_goods', false, null],
  ['dyn_allowance_charge', false, null],
  ['dyn_party', true, 'external_id'],
  ['dyn_location', true, 'external_id'],
  ['dyn_packing_type', true, 'code'],
  ['dyn_allowance_charge_reason', true, 'code'],
];
const MODELS = [
  ['acme', STOCK],
  ['hauler', TRANSPORT],
] as const;
const ALL = MODELS.flatMap(([tenant, rows]) => rows.map((row) => [tenant, ...row] as const));
const REFERENCE = ALL.filter(([, , supportingData]) => supportingData);

const assetList = z.strictObject({
  data: z.array(
    z.looseObject({
      name: z.string(),
      label: z.string().min(1),
      kind: z.enum(['reference', 'master']),
      supporting_data: z.boolean(),
      links: z.strictObject({ info: z.url(), assets: z.url() }),
    }),
  ),
});
const listAssets = async (tenant: TenantClient, token?: string) => {
  const answer = await tenant.send('GET', ASSETS, token === undefined ? {} : { token });
  expect(answer.status).toBe(200);
  return assetList.parse(answer.body).data;
};

describe('the list of assets', () => {
  it.each(MODELS)(
    '§1: the model of %s has exactly its standard assets, each with its supporting_data flag',
    async (tenant, rows) => {
      const listed = await listAssets(run.tenant(tenant));
      const flags = (list: readonly (readonly [string, boolean])[]) => Object.fromEntries(list);
      expect(flags(listed.map((asset) => [asset.name, asset.supporting_data]))).toEqual(
        flags(rows.map(([name, supportingData]) => [name, supportingData])),
      );
      for (const asset of listed) expect(asset.kind).toBe(asset.supporting_data ? 'reference' : 'master');
    },
  );

  it('decision: GET …/dyn lists the assets that the token may see (§4.1)', async () => {
    const reference = await listAssets(acme(), await acme().token('read:reference_data'));
    expect(reference.every((asset) => asset.supporting_data)).toBe(true);
    expect(reference).toHaveLength(6);
    const orders = await listAssets(acme(), await acme().token('read:order_data'));
    expect(orders.map(({ name }) => name)).toEqual(['dyn_stock_order', 'dyn_order_line']);
  });

  it('decision: the links of the list lead to the asset (§4.1)', async () => {
    for (const { name, links } of await listAssets(acme())) {
      for (const link of [links.info, links.assets]) {
        const url = new URL(link);
        expect(url.host).toBe(acme().host);
        expect(url.pathname.startsWith(`${ASSETS}/${name}/`)).toBe(true);
        expect((await acme().send('GET', url.pathname)).status).toBe(200);
      }
    }
  });
});

describe('info', () => {
  itOfRequests.each(ALL)(
    '§4.2: info of %s %s shows schema, relationships and flags',
    async (tenant, table, supportingData, uniqueField) => {
      const info = await infoOf(run.tenant(tenant), table);
      expect(info).toMatchObject({ name: table, supporting_data: supportingData, unique_field: uniqueField });
      expect(info.fields.slice(0, 3).map(({ name }) => name)).toEqual(['id', 'created_at', 'updated_at']);
      for (const field of info.fields) {
        expect(field.nullable).toBe(!field.required && !['id', 'created_at', 'updated_at'].includes(field.name));
        if (field.unique && field.name !== 'id') expect(field).toMatchObject({ name: uniqueField, required: true });
      }
      const names = info.fields.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      for (const { kind, field } of info.relationships) if (kind === 'belongs_to') expect(names).toContain(field);
      // §2.1: it is hidden.
      expect(names).not.toContain('_batch_id');

      // Decision: the same as JSON Schema. An order may be sent with the lists of its parts.
      const { fields, relationships, json_schema } = info;
      const lists = relationships.filter(({ kind }) => table.endsWith('_order') && kind === 'has_many');
      const required = fields.filter((field) => field.required).map(({ name }) => name);
      expect([...(json_schema.required ?? [])].sort()).toEqual(required.sort());
      const properties = z.record(z.string(), z.unknown()).parse(json_schema.properties);
      expect(Object.keys(properties).sort()).toEqual([...names, ...lists.map(({ name }) => name)].sort());
      expect(json_schema.additionalProperties).toBe(false);
    },
  );

  itOfRequests.each([
    [
      'acme',
      'dyn_stock_order',
      'sales_order_id processing_status issue_date issue_time delivery_date notes customer_reference ' +
        'accuracy order_inquiry_id buyer_customer_party_id accounting_customer_party_id error_reason ' +
        'approved_at approved_by',
    ],
    ['acme', 'dyn_order_line', 'quantity item_id order_id unit_code_id'],
    ['acme', 'dyn_item', 'name description brand_name sku ean external_id base_unit_code_id category_id product_id'],
    [
      'acme',
      'dyn_party',
      'account_id name language website_uri street_name additional_street_name city_name postal_zone ' +
        'country contact_name contact_telephone contact_email external_id address_number',
    ],
    ['hauler', 'dyn_party', 'name street city external_id country'],
    ['acme', 'dyn_unit_code', 'code value'],
  ])(
    '§2.3: %s %s has every field that the order payload or the examples of §2.1 show',
    async (tenant, table, wanted) => {
      const { fields } = await infoOf(run.tenant(tenant), table);
      expect(fields.map(({ name }) => name)).toEqual(expect.arrayContaining(wanted.split(' ')));
    },
  );
});

describe('one uniform interface', () => {
  it.each(REFERENCE)(
    '§1: %s %s can be created, read, listed, updated, filled by batch and cleaned up',
    async (name, table, _flag, uniqueField) => {
      const tenant = run.tenant(name);
      const info = await infoOf(tenant, table);
      const unique = String(uniqueField);
      const small = await tenant.create(table, smallestRecord(info, 1));
      const full = await tenant.create(table, fullestRecord(info, 2));
      expect(full).toEqual({
        id: full.id,
        created_at: full.created_at,
        updated_at: full.updated_at,
        ...fullestRecord(info, 2),
      });
      expect(Object.keys(small)).toEqual(info.fields.map((field) => field.name));
      expect(await tenant.get(table, full.id)).toEqual(full);
      expect((await tenant.list(table)).data).toEqual([small, full]);

      const updated = await tenant.update(table, small.id, { ...fullestRecord(info, 3), [unique]: small[unique] });
      expect(updated).toMatchObject({ ...fullestRecord(info, 3), id: small.id, [unique]: small[unique] });
      expect(await tenant.get(table, small.id)).toEqual(updated);

      const items = [2, 4].map((n) => ({ ...fullestRecord(info, n), _batch_id: 'sync' }));
      expect(await tenant.batch(table, items)).toMatchObject({ created: 1, updated: 0, unchanged: 1 });
      expect(await tenant.cleanUp(table, 'sync')).toMatchObject({ deleted: 1 });
      const left = (await tenant.list(table)).data;
      expect(left.map((record) => record[unique])).toEqual(
        items.map((item) => Object.entries(item).find(([field]) => field === unique)?.[1]),
      );
    },
  );

  it.each(ALL)('§2.1: the ids and timestamps of %s %s are UUIDs and UTC with microseconds', async (name, table) => {
    const { data } = await run.tenant(name).list(table);
    for (const record of data) {
      expect(record.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      for (const time of [record.created_at, record.updated_at])
        expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    }
  });

  it.each(['dyn_transport_order', 'dyn_unknown', '__proto__', '%00'])(
    '§7: 404 on every endpoint of the table %s, which a stock tenant does not have',
    async (table) => {
      const id = '01a1feb1-9a64-76fa-95fa-131ef9230738';
      const calls = [
        () => acme().info(table),
        () => acme().getList(table),
        () => acme().getRecord(table, id),
        () => acme().postRecord(table, { external_id: 'X', name: 'X' }),
        () => acme().putRecord(table, id, { name: 'X' }),
        () => acme().postBatch(table, { items: [{ external_id: 'X', name: 'X' }] }),
        () => acme().postCleanUp(table, { batch_id: 'x' }),
      ];
      for (const call of calls) await expectRefused(run.service(), 404, call);
    },
  );

  it('§9: the version is part of the path; another version is 404', async () => {
    await expectRefused(run.service(), 404, () => acme().send('GET', '/api/v2/dynamic-assets/dyn/dyn_item/assets'));
    await expectRefused(run.service(), 404, () => acme().send('GET', '/dynamic-assets/dyn/dyn_item/assets'));
  });
});
