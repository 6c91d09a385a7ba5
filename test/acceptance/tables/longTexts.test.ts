/** Records as large as one may be, whose texts filters search (spec §4.3): they are shown, and hold up nobody. */
import { useService } from '../useService.js';

/** A text field takes 65,535 characters, a record a million bytes. */
const CHARACTERS = 975_000;
const TABLES = [
  ['dyn_party', 15],
  ['dyn_packing_type', 58],
] as const;

const run = useService({ tenants: { acme: 'dyn_transport_order', other: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');

/** Hardly three of its characters come twice. */
function differentText(length: number, seed: number): string {
  let state = seed + 1;
  return Array.from({ length }, () => {
    // A linear congruential generator (Numerical Recipes).
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return String.fromCharCode(97 + ((state >>> 16) % 26));
  }).join('');
}

it.each(TABLES)(
  'the largest record of %s with %i texts is found by a part of each, and another tenant by its own',
  async (table, count) => {
    const names = Array.from({ length: count }, (_, n) => `text_${n}`);
    for (const name of names)
      await acme().platformData('POST', `/asset-types/${table}/fields`, { name, type: 'LongText', filterable: true });
    const texts = names.map((_, n) => differentText(Math.floor(CHARACTERS / count), n));
    const fields = Object.fromEntries(names.map((name, n) => [name, texts[n]]));
    const { id } = await acme().create(table, { ...KEYS[table], ...fields });
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

const KEYS = {
  dyn_party: { external_id: 'I', name: 'Tea' },
  dyn_packing_type: { code: 'P', value: 'Pallet' },
} as const;
