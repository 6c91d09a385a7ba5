/**
 * What a record shows is what PUT, batch and filters take, and finds it again; a number and its text are one value
 * (spec §2.1, §4.3, §4.6, §4.7). Over HTTP, with numbers of all magnitudes.
 */
import fc from 'fast-check';
import { addTableOfEveryType, EVERY_TYPE } from '../acceptance/everyType.js';
import { ASSETS } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';

const SEED = 20261125;
const digits = fc.stringMatching(/^-?[1-9]\d{0,14}$/);
const sampled = fc
  .sample(fc.tuple(digits, fc.integer({ min: -300, max: 290 })), { seed: SEED, numRuns: 12 })
  .map(([some, exponent]) => `${some}e${exponent}`);
const short = fc
  .sample(fc.tuple(digits, fc.integer({ min: -25, max: 25 })), { seed: SEED, numRuns: 12 })
  .map(([some, exponent]) => `${some}e${exponent}`);
const EDGES = ['0', '1e15', '1e20', '1e21', '-1e18', '1e-6', '1e-7', '5e-324', '1e-320', '1.79769313486231e308'];
const decimals = [...EDGES, ...short, ...sampled].map((written) => ({ field: 'amount', written }));
const integers = ['7', '-12', '1e2', '9007199254740991', '-9007199254740991', '4503599627370497'].map((written) => ({
  field: 'count',
  written,
}));
const VALUES = [...decimals, ...integers].map((value, n) => ({ ...value, code: `V${n}` }));
const path = `${ASSETS}/${EVERY_TYPE}/assets`;

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
beforeAll(async () => {
  await addTableOfEveryType(acme());
  await sendBatch(({ written }) => written);
});

const sendBatch = async (jsonOf: (value: (typeof VALUES)[number]) => string) => {
  const items = VALUES.map((value) => `{"code":"${value.code}","${value.field}":${jsonOf(value)}}`);
  const answer = await acme().send('POST', `${path}/batch`, { raw: `{"items":[${items.join(',')}]}` });
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.body;
};
const shown = async () => {
  const { text } = await acme().getList(EVERY_TYPE, { perPage: '100' });
  return new Map(
    VALUES.map(({ code, field }) => [
      code,
      new RegExp(`"code":"${code}"[^}]*"${field}":([^,}]+)`).exec(text)?.[1] ?? 'nothing',
    ]),
  );
};
const found = async (query: { readonly [name: string]: string } | string) => {
  const { data } = await acme().list(EVERY_TYPE, query);
  return data.map(({ code }) => code);
};

it('a batch that sends back what is shown, as numbers or Decimals as text, changes nothing', async () => {
  const texts = await shown();
  const count = VALUES.length;
  const unchanged = { data: { created: 0, updated: 0, unchanged: count } };
  expect(await sendBatch(({ code }) => texts.get(code) ?? '')).toMatchObject(unchanged);
  expect(
    await sendBatch(({ code, field }) => (field === 'amount' ? `"${texts.get(code)}"` : (texts.get(code) ?? ''))),
  ).toMatchObject(unchanged);
  expect(await sendBatch(({ field, written }) => (field === 'amount' ? `" ${written} "` : written))).toMatchObject(
    unchanged,
  );
});

it('a record that was read is taken by PUT and by create, and stays as it was', async () => {
  const { data } = await acme().list(EVERY_TYPE, { perPage: '100' });
  for (const record of data.slice(0, 20)) {
    const { text } = await acme().getRecord(EVERY_TYPE, record.id);
    const raw = JSON.stringify(JSON.parse(text).data);
    expect(text).toBe(`{"data":${raw}}`);
    const answer = await acme().send('PUT', `${path}/${record.id}`, { raw });
    expect([answer.status, answer.text]).toEqual([200, text]);
  }
});

it.each(VALUES)('$written of $field is found by what is shown, by what was sent, and by a part', async (value) => {
  const { code, field, written } = value;
  const text = (await shown()).get(code) ?? '';
  for (const each of [text, written]) {
    expect(await found({ [`filter[${field}][eq]`]: each })).toContain(code);
    expect(await found({ [`filter[${field}][in]`]: `1234.5678,${each}`.slice(field === 'count' ? 10 : 0) })).toContain(
      code,
    );
    expect(await found({ [`filter[${field}][gte]`]: each, [`filter[${field}][lte]`]: each })).toContain(code);
    expect(await found({ [`filter[${field}][ne]`]: each, 'filter[code][eq]': code })).toEqual([]);
    expect(await found({ [`filter[${field}][gt]`]: each, 'filter[code][eq]': code })).toEqual([]);
    expect(await found({ [`filter[${field}][lt]`]: each, 'filter[code][eq]': code })).toEqual([]);
  }
  expect(await found({ [`filter[${field}]`]: text })).toContain(code);
});

it('all that is shown is found by one `in`', async () => {
  const texts = await shown();
  const all = decimals.map((_, n) => texts.get(`V${n}`));
  expect((await acme().list(EVERY_TYPE, { 'filter[amount][in]': all.join() })).meta.total).toBe(decimals.length);
});

it.each(['1234567890123456e5', '1.2345678901234567', '3e-324', '1.23456789e-320', '1e400', '123456789012345678'])(
  '%s is refused as a number and as text alike, by create, PUT, batch (422) and filters (400)',
  async (written) => {
    const one = (await acme().list(EVERY_TYPE)).data[0];
    for (const json of [written, `"${written}"`]) {
      const raw = `{"code":"refused","amount":${json}}`;
      for (const [method, to, body] of [
        ['POST', path, raw],
        ['PUT', `${path}/${one?.id}`, `{"amount":${json}}`],
        ['POST', `${path}/batch`, `{"items":[${raw}]}`],
      ] as const) {
        expect((await acme().send(method, to, { raw: body })).status).toBe(422);
      }
    }
    for (const operator of ['eq', 'ne', 'gt', 'lte', 'in']) {
      expect((await acme().getList(EVERY_TYPE, { [`filter[amount][${operator}]`]: written })).status).toBe(400);
    }
  },
);

it.each(['12345678901234567890', '1e400'])('%s, as a number, is no text: 422 as of 1', async (written) => {
  for (const field of ['code', 'title', 'text', '_batch_id']) {
    const item = `{${field === 'code' ? '' : '"code":"no text",'}"${field}":${written}}`;
    expect((await acme().send('POST', `${path}/batch`, { raw: `{"items":[${item}]}` })).status).toBe(422);
  }
});
