/** Records as large as one may be, whose texts filters search (spec §4.3): they are shown, and hold up nobody. */
import { z } from 'zod';
import { type Info, type InfoField, infoOf, sampleValue, writableFields } from '../samples.js';
import { ASSETS, type Fields } from '../tenant.js';
import { useService } from '../useService.js';

/** A record takes a million bytes. */
const CHARACTERS = 975_000;
const OWN_TABLE = 'dyn_wide';

const run = useService({ tenants: { acme: 'dyn_transport_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

/** Hardly three of its characters come twice. @param first code of the first of the characters of which it is made */
function differentText(length: number, seed: number, { first = 'a', count = 26 } = {}): string {
  let state = seed + 1;
  return Array.from({ length }, () => {
    // A linear congruential generator (Numerical Recipes).
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return String.fromCharCode(first.charCodeAt(0) + ((state >>> 16) % count));
  }).join('');
}

/** Adds fields for long texts: to a standard table, or with a table of the tenant's own. */
async function addTexts(table: string, names: readonly string[]): Promise<void> {
  const texts = names.map((name) => ({ name, type: 'LongText', filterable: true }));
  if (table === OWN_TABLE) {
    const fields = [{ name: 'code', type: 'String', required: true }, ...texts];
    await acme().platformData('POST', '/asset-types', { name: table, unique_field: 'code', fields });
  } else for (const text of texts) await acme().platformData('POST', `/asset-types/${table}/fields`, text);
}

it.each([
  ['dyn_party', 15, { external_id: 'I', name: 'Tea' }],
  [OWN_TABLE, 58, { code: 'P' }],
] as const)(
  'the largest record of %s with %i texts is found by a part of each, and another tenant by its own',
  async (table, count, required) => {
    const names = Array.from({ length: count }, (_, n) => `text_${n}`);
    await addTexts(table, names);
    const texts = names.map((_, n) => differentText(Math.floor(CHARACTERS / count), n));
    const fields = Object.fromEntries(names.map((name, n) => [name, texts[n]]));
    const { id } = await acme().create(table, { ...required, ...fields });
    const neighbour = await run.tenant('other').create('dyn_party', { external_id: table, name: 'Tea' });
    expect((await run.tenant('other').list('dyn_party', { 'filter[external_id]': table })).data).toEqual([neighbour]);
    for (const [n, name] of names.entries()) {
      if (n % 7 > 0) continue;
      const found = await acme().list(table, { [`filter[${name}]`]: texts[n]?.slice(-100, -80) ?? '' });
      expect([name, found.data.map((record) => record.id)]).toEqual([name, [id]]);
      const others = await acme().list(table, { [`filter[${name}]`]: `${texts[n]?.slice(-100, -80)} ` });
      expect([name, others.data]).toEqual([name, []]);
    }
  },
);

/** Most bytes for each character that a text may have. */
const IDEOGRAPHS = { first: '一', count: 5_000 };

/** A record with the longest text in each field, as the child of the records that were made before. */
function longestRecord(info: Info, made: ReadonlyMap<string, string>): Fields {
  const parents = new Map(
    info.relationships.flatMap(({ kind, field, key, table }) =>
      kind === 'belongs_to' && key === 'id' ? [[field, made.get(table)] as const] : [],
    ),
  );
  const longest = (field: InfoField, n: number) => {
    if (!isText(field)) return parents.get(field.name) ?? sampleValue(field, n);
    return differentText(field.max_length ?? 255, n, IDEOGRAPHS);
  };
  const fields = writableFields(info).filter(({ name, custom }) => !custom && !STATE.includes(name));
  return Object.fromEntries(fields.map((field, n) => [field.name, longest(field, n)]));
}

const STATE = ['processing_status', 'error_reason'];
const isText = ({ type, format, one_of, list }: InfoField): boolean =>
  (type === 'String' || type === 'LongText') && format === null && one_of === null && !list;

it.each(['acme', 'other'])(
  'the largest record of each standard table of %s is stored, and found by a part of each text',
  async (name) => {
    const tenant = run.tenant(name);
    const listed = z.object({ data: z.array(z.object({ name: z.string() })) });
    const tables = listed.parse((await tenant.send('GET', ASSETS)).body).data.map((table) => table.name);
    const made = new Map<string, string>();
    for (const table of tables.filter((each) => each !== OWN_TABLE)) {
      const info = await infoOf(tenant, table);
      const fields = longestRecord(info, made);
      const record = await tenant.create(table, fields);
      expect(record).toMatchObject(fields);
      made.set(table, record.id);
      for (const { name: field } of info.fields.filter((each) => each.filterable && !each.custom && isText(each))) {
        const part = String(fields[field]).slice(-20);
        const found = await tenant.list(table, { [`filter[${field}]`]: part });
        expect([table, field, found.data.map(({ id }) => id)]).toEqual([table, field, [record.id]]);
        expect([field, (await tenant.list(table, { [`filter[${field}]`]: `${part}一` })).data]).toEqual([field, []]);
      }
    }
  },
);
