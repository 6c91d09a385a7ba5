/**
 * Keys are compared character for character, everywhere: with regard to case and spaces, without Unicode normalization
 * (spec §4.7, decision 0014).
 */
import { addPerson } from '../people.js';
import { useService } from '../useService.js';

const { acme, tenant } = useService({ tenants: { acme: 'dyn_stock_order', orders: 'dyn_stock_order' } });

/** Each looks like another one of them, or is taken for it by some comparison of databases or languages. */
const KEYS = [
  // Case and spaces.
  ...['K-1', 'k-1', ' K-1', 'K-1 ', '  K-1  ', 'K-1\t', 'K-1\n', 'K-1\r\n', '\u00a0K-1', 'K-1\u00a0', 'K-1\u3000'],
  // Characters that are not seen, or look like others.
  ...['K\u200b-1', 'K-1\u200d', 'K-1\ufeff', '\u200eK-1', 'K\u00ad-1', 'K\u20101', 'K\u20131', '\u212a-1', '\u041a-1'],
  ...['\uff2b\uff0d\uff11', '\u2764', '\u2764\ufe0f', '\u1112\u1161\u11ab', '\ud55c'],
  // What Unicode normalization and languages take for one.
  ...['caf\u00e9', 'cafe\u0301', 'CAF\u00c9', 'cafe', '\u00c5', 'A\u030a', '\u212b', '\ufb01', 'fi', 'stra\u00dfe'],
  ...['STRA\u1e9eE', '\u03c3', '\u03c2', '\u03a3', 'I', 'i', '\u0130', 'i\u0307', '\u0131'],
  // Numbers, and what filters and databases read as something else.
  ...['\u2460', '1', '01', '1.0', '\u0661', 'a,b', 'a\\,b', '%', '_', '*', 'a\\', 'null', 'NULL'],
  // As long as a key may be, and twice as long in UTF-16.
  '\ud83d\ude9a'.repeat(255),
];

const escaped = (key: string): string => key.replaceAll(',', '\\,');
const all = async () => (await acme().list('dyn_party', { perPage: '100' })).data;
const found = async (operator: string, key: string) => {
  const { data } = await acme().list('dyn_party', { perPage: '100', [`filter[external_id]${operator}`]: key });
  return data.map((record) => record.external_id);
};
const items = (name: string, _batch_id: string) => KEYS.map((external_id) => ({ external_id, name, _batch_id }));
const dryRun = async (sent: readonly object[]) =>
  (await acme().postBatch('dyn_party', { items: sent }, { query: { dry_run: 'true' } })).body;

beforeAll(async () => {
  expect(await dryRun(items('Before', 'one'))).toMatchObject({ data: { created: KEYS.length, updated: 0 } });
  expect(await acme().batch('dyn_party', items('Before', 'one'))).toMatchObject({ created: KEYS.length });
});

it('the records of a batch are as many as its keys; the same batch again makes none', async () => {
  expect((await all()).map(({ external_id }) => external_id).sort()).toEqual([...KEYS].sort());
  expect(await dryRun(items('Other', 'one'))).toMatchObject({ data: { created: 0, updated: KEYS.length } });
  expect(await acme().batch('dyn_party', items('Before', 'one'))).toMatchObject({ unchanged: KEYS.length });
});

it('each key is taken by itself alone: for a create, and for a second item of a batch', async () => {
  for (const external_id of KEYS) {
    expect((await acme().postRecord('dyn_party', { external_id, name: 'Again' })).status).toBe(422);
  }
  const twice = [...items('A', 'one'), ...items('A', 'one')];
  const answer = await acme().postBatch('dyn_party', { items: twice });
  expect([answer.status, Object.keys(Object(answer.body).errors)]).toEqual([
    422,
    KEYS.map((_, n) => `items.${KEYS.length + n}.external_id`),
  ]);
});

it('each is found alone by eq and in, and left out alone by ne', async () => {
  for (const key of KEYS) {
    expect(await found('[eq]', key)).toEqual([key]);
    expect(await found('[in]', escaped(key))).toEqual([key]);
    expect((await found('[ne]', key)).sort()).toEqual(KEYS.filter((other) => other !== key).sort());
  }
});

it('an order that names a party means the one with this key, and none that looks like it', async () => {
  const orders = tenant('orders');
  const auditor = await addPerson(orders, 'auditor', ['auditor']);
  await orders.batch('dyn_party', [
    { external_id: 'caf\u00e9', name: 'Composed' },
    { external_id: 'K-1', name: 'Without spaces' },
    { external_id: 'K-1 ', name: 'With a space' },
  ]);
  const partyOf = async (key: string) => {
    const { id } = await orders.create('dyn_stock_order', { buyer_customer_party_id: key });
    const { data } = Object((await auditor.call('GET', `/orders/${id}`)).body);
    return [
      data.buyer_customer_party?.name ?? null,
      data.problems.map(({ code }: { code: string }) => code).filter((code: string) => code !== 'missing'),
    ];
  };
  expect(await partyOf('caf\u00e9')).toEqual(['Composed', []]);
  expect(await partyOf('K-1')).toEqual(['Without spaces', []]);
  expect(await partyOf('K-1 ')).toEqual(['With a space', []]);
  for (const key of ['cafe\u0301', 'CAF\u00c9', 'k-1', ' K-1', 'K-1\u00a0']) {
    expect(await partyOf(key)).toEqual([null, ['unknown_reference']]);
  }
});
