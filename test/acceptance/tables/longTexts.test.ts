/** Records as large as one may be, whose texts filters search (spec §4.3): they are shown, and hold up nobody. */
import { z } from 'zod';
import { type Info, type InfoField, infoOf, sampleValue, writableFields } from '../samples.js';
import { ASSETS, type Fields } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_transport_order', other: 'dyn_stock_order' } });

/** Hardly three of its characters come twice. @param first code of the first of the characters of which it is made */
function differentText(length: number, seed: number, { first = 'a', count = 26 } = {}): string {
  let state = seed + 1;
  return Array.from({ length }, () => {
    // A linear congruential generator (Numerical Recipes).
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return String.fromCharCode(first.charCodeAt(0) + ((state >>> 16) % count));
  }).join('');
}

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
  const fields = writableFields(info).filter(({ name }) => !STATE.includes(name));
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
    for (const table of tables) {
      const info = await infoOf(tenant, table);
      const fields = longestRecord(info, made);
      const record = await tenant.create(table, fields);
      expect(record).toMatchObject(fields);
      made.set(table, record.id);
      for (const { name: field } of info.fields.filter((each) => each.filterable && isText(each))) {
        const part = String(fields[field]).slice(-20);
        const found = await tenant.list(table, { [`filter[${field}]`]: part });
        expect([table, field, found.data.map(({ id }) => id)]).toEqual([table, field, [record.id]]);
        expect([field, (await tenant.list(table, { [`filter[${field}]`]: `${part}一` })).data]).toEqual([field, []]);
      }
    }
  },
);
