/**
 * Keys are compared character for character, everywhere: with regard to case and spaces, without Unicode normalization
 * (spec §4.7, decision 0046).
 */
import { addPerson } from '../people.js';
import { infoOf } from '../samples.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', batches: 'dyn_stock_order', orders: 'dyn_stock_order' } });
const PARTIES = `${ASSETS}/dyn_party/assets`;

/** Each looks like another one of them, or is taken for it by some comparison of databases or languages. */
const KEYS = [
  'K-1',
  'k-1',
  ' K-1',
  'K-1 ',
  '  K-1  ',
  'K-1\t',
  'K-1\n',
  'K-1\r\n',
  '\u00a0K-1',
  'K-1\u00a0',
  'K-1\u3000',
  'K\u200b-1',
  'K-1\u200d',
  'K-1\ufeff',
  '\u200eK-1',
  'K\u00ad-1',
  'K\u20101',
  'K\u20131',
  '\u212a-1',
  '\u041a-1',
  '\uff2b\uff0d\uff11',
  'caf\u00e9',
  'cafe\u0301',
  'CAF\u00c9',
  'cafe',
  '\u00c5',
  'A\u030a',
  '\u212b',
  '\ufb01',
  'fi',
  'stra\u00dfe',
  'strasse',
  'STRA\u1e9eE',
  '\u03c3',
  '\u03c2',
  '\u03a3',
  'I',
  'i',
  '\u0130',
  'i\u0307',
  '\u0131',
  '\u1112\u1161\u11ab',
  '\ud55c',
  '\u2460',
  '1',
  '01',
  '1.0',
  '1e0',
  '+1',
  '\u0661',
  'a,b',
  'a\\,b',
  'a\\\\,b',
  '%',
  '_',
  '*',
  'a\\',
  'null',
  'NULL',
  '\u2764',
  '\u2764\ufe0f',
  // As long as a key may be, and twice as long in UTF-16.
  '\ud83d\ude9a'.repeat(255),
];
const shown = KEYS.map((key) => [
  JSON.stringify(key).replaceAll(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`),
  key,
]);

const escaped = (key: string): string => key.replaceAll(',', '\\,');
const keysOf = (data: readonly { readonly [name: string]: unknown }[]) => data.map((record) => record.external_id);
const list = async (tenant: string, query: { readonly [name: string]: string }) =>
  keysOf((await run.tenant(tenant).list('dyn_party', { perPage: '100', ...query })).data);

it('info says how keys are compared, of tables that have some', async () => {
  expect(await infoOf(run.tenant('acme'), 'dyn_party')).toMatchObject({ unique_comparison: 'exact' });
  expect(await infoOf(run.tenant('acme'), 'dyn_stock_order')).toMatchObject({ unique_comparison: null });
});

describe('records created one by one', () => {
  const acme = () => run.tenant('acme');
  const ids = new Map<string, string>();
  beforeAll(async () => {
    for (const external_id of KEYS) {
      const { id, external_id: key } = await acme().create('dyn_party', { external_id, name: 'Before' });
      expect(key).toBe(external_id);
      ids.set(external_id, id);
    }
  });

  it('are as many as keys; each key is taken only by itself', async () => {
    expect(new Set(ids.values()).size).toBe(KEYS.length);
    for (const external_id of KEYS) {
      expect((await acme().postRecord('dyn_party', { external_id, name: 'Again' })).status).toBe(422);
    }
  });

  it.each(shown)('%s is found alone by eq and in, and left out alone by ne', async (_shown, key) => {
    expect(await list('acme', { 'filter[external_id][eq]': key })).toEqual([key]);
    expect(await list('acme', { 'filter[external_id][in]': escaped(key) })).toEqual([key]);
    expect((await list('acme', { 'filter[external_id][ne]': key })).sort()).toEqual(
      KEYS.filter((other) => other !== key).sort(),
    );
  });

  it('some are found by one in, with their spaces', async () => {
    // A backslash at the end of a value would escape the comma behind it.
    const some = KEYS.filter((key) => !key.endsWith('\\'));
    const found = await list('acme', { 'filter[external_id][in]': some.map(escaped).join() });
    expect(found.sort()).toEqual([...some].sort());
    expect(await list('acme', { 'filter[external_id][in]': 'K-1, K-1' })).toEqual(['K-1', ' K-1']);
  });

  it('filter[field]= looks for a part without regard to case, as before', async () => {
    const found = await list('acme', { 'filter[external_id]': 'k-1' });
    expect(found).toEqual(expect.arrayContaining(['K-1', 'k-1', ' K-1', 'K-1 ']));
  });

  it('an update gives a record a key that only looks like another one, and not that other one', async () => {
    const { id } = await acme().create('dyn_party', { external_id: 'moves', name: 'Before' });
    for (const external_id of ['K-1  ', 'K -1', 'cafe\u0301\u0301']) {
      expect(await acme().update('dyn_party', id, { external_id })).toMatchObject({ id, external_id });
    }
    for (const external_id of ['K-1', 'K-1 ', 'cafe\u0301', 'caf\u00e9']) {
      expect((await acme().putRecord('dyn_party', id, { external_id })).status).toBe(422);
    }
    await acme().batch('dyn_party', [{ external_id: 'cafe\u0301\u0301', name: 'Moved' }]);
    expect((await acme().get('dyn_party', id)).name).toBe('Moved');
  });

  it('a batch that names one changes it, and none that looks like it', async () => {
    for (const [n, external_id] of KEYS.entries()) {
      expect(await acme().batch('dyn_party', [{ external_id, name: `After ${n}` }])).toMatchObject({ updated: 1 });
    }
    for (const [n, external_id] of KEYS.entries()) {
      expect((await acme().get('dyn_party', ids.get(external_id) ?? '')).name).toBe(`After ${n}`);
    }
  });
});

describe('records of one batch', () => {
  const batches = () => run.tenant('batches');
  const items = (name: string, batchId: string) =>
    KEYS.map((external_id) => ({ external_id, name, _batch_id: batchId }));
  const ids = async () => {
    const { data } = await batches().list('dyn_party', { perPage: '100' });
    return new Map(data.map(({ id, external_id }) => [external_id, id]));
  };

  it('are as many as keys, in a dry run too; the same batch again makes none', async () => {
    const dryRun = await batches().send('POST', `${PARTIES}/batch?dry_run=true`, {
      body: { items: items('A', 'one') },
    });
    expect(dryRun.body).toMatchObject({ data: { created: KEYS.length, updated: 0 } });
    expect(await batches().batch('dyn_party', items('A', 'one'))).toMatchObject({ created: KEYS.length });
    const again = await batches().send('POST', `${PARTIES}/batch?dry_run=true`, { body: { items: items('B', 'one') } });
    expect(again.body).toMatchObject({ data: { created: 0, updated: KEYS.length } });
    expect(await batches().batch('dyn_party', items('A', 'one'))).toMatchObject({ unchanged: KEYS.length });
    expect(keysOf((await batches().list('dyn_party', { perPage: '100' })).data).sort()).toEqual([...KEYS].sort());
  });

  it('the same key twice is 422, one that looks like it is not', async () => {
    for (const [n, external_id] of KEYS.entries()) {
      const answer = await batches().postBatch('dyn_party', {
        items: [...items('A', 'one'), { external_id, name: 'A' }],
      });
      expect([n, answer.status, Object.keys(Object(answer.body).errors)]).toEqual([
        n,
        422,
        [`items.${KEYS.length}.external_id`],
      ]);
    }
  });

  it('one that was cleaned up comes back with its own id, not that of a key that looks like it', async () => {
    const before = await ids();
    await batches().batch('dyn_party', [{ external_id: 'other', name: 'O', _batch_id: 'two' }]);
    await batches().cleanUp('dyn_party', 'two');
    expect(await list('batches', {})).toEqual(['other']);
    const backwards = [...items('A', 'three')].reverse();
    expect(await batches().batch('dyn_party', backwards)).toMatchObject({ created: KEYS.length });
    const after = await ids();
    for (const key of KEYS) expect([key, after.get(key)]).toEqual([key, before.get(key)]);
  });
});

it('an order that names a party means the one with this key, and none that looks like it', async () => {
  const orders = run.tenant('orders');
  const auditor = await addPerson(orders, 'auditor', ['auditor']);
  await orders.batch('dyn_party', [
    { external_id: 'caf\u00e9', name: 'Composed' },
    { external_id: 'K-1', name: 'Without spaces' },
    { external_id: 'K-1 ', name: 'With a space' },
  ]);
  const partyOf = async (key: string) => {
    const { id } = await orders.create('dyn_stock_order', { buyer_customer_party_id: key });
    const { data } = Object((await auditor.call('GET', `/orders/${id}`)).body);
    return [data.buyer_customer_party?.name ?? null, data.problems.map(({ code }: { code: string }) => code)];
  };
  expect(await partyOf('caf\u00e9')).toEqual(['Composed', []]);
  expect(await partyOf('K-1')).toEqual(['Without spaces', []]);
  expect(await partyOf('K-1 ')).toEqual(['With a space', []]);
  for (const key of ['cafe\u0301', 'CAF\u00c9', 'k-1', ' K-1', 'K-1\u00a0']) {
    expect(await partyOf(key)).toEqual([null, ['unknown_reference']]);
  }
});
