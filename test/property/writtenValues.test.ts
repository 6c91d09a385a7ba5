/**
 * What a record shows is what PUT, batch and filters take, and finds it again; a number and its text are one value
 * (spec §2.1, §4.3, §4.6, §4.7). Over HTTP, with numbers of all magnitudes.
 */
import fc from 'fast-check';
import { addTableOfEveryType, EVERY_TYPE } from '../acceptance/everyType.js';
import { ASSETS } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { isRepetition } from '../onProductionEngines/repetition.js';

const SEED = 20261125;
/** On other engines the edges tell most. */
const SAMPLES = isRepetition ? 2 : 12;
const digits = fc.stringMatching(/^-?[1-9]\d{0,14}$/);
const sampled = (min: number, max: number) =>
  fc.sample(fc.tuple(digits, fc.integer({ min, max }), fc.integer({ min: 0, max: 30 })), {
    seed: SEED,
    numRuns: SAMPLES,
  });

/** One value in the forms that JSON allows. */
function formsOf([signed, exponent, more]: readonly [string, number, number]): readonly string[] {
  const [, sign = '', some = ''] = /^(-?)(\d+)$/.exec(signed) ?? [];
  const zeros = '0'.repeat(more);
  const plain =
    exponent >= 0
      ? `${some}${'0'.repeat(exponent)}`
      : exponent > -some.length
        ? `${some.slice(0, exponent)}.${some.slice(exponent)}`
        : `0.${'0'.repeat(-exponent - some.length)}${some}`;
  return [
    `${some}e${exponent}`,
    `${some}.${zeros}0E${exponent < 0 ? '' : '+'}${exponent}`,
    `${some}${zeros}e${exponent - more}`,
    `0.${zeros}${some}e${exponent + more + some.length}`,
    plain,
    plain.includes('.') ? `${plain}${zeros}` : `${plain}.0${zeros}`,
  ].map((form) => `${sign}${form}`);
}
const FORMS = 6;

/** `-12.50e1` is -125 times ten to the power of 0: the same for all forms of a value, and for no other one. */
function exactly(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const all = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = all.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + all.length - significant.length;
  return significant === '' ? '0' : `${sign}${significant} ${power}`;
}

const EDGES = ['0', '1e15', '1e20', '1e21', '-1e18', '1e-6', '1e-7', '5e-324', '1e-320', '1.79769313486231e308'];
const decimals = [...EDGES.map((edge) => [edge]), ...[...sampled(-25, 25), ...sampled(-300, 290)].map(formsOf)].map(
  (forms) => ({ field: 'amount', written: forms[0] ?? '', forms }),
);
const integers = ['7', '-12', '1e2', '9007199254740991', '-9007199254740991', '4503599627370497'].map((written) => ({
  field: 'count',
  written,
  forms: [written],
}));
const VALUES = [...decimals, ...integers].map((value, n) => ({ ...value, code: `V${n}` }));
const path = `${ASSETS}/${EVERY_TYPE}/assets`;

const { acme } = useService({ tenants: { acme: 'dyn_stock_order' } });
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

it('each value is shown unrounded; a batch that sends it back in any form, as a number or a Decimal as text, changes nothing', async () => {
  const texts = await shown();
  const count = VALUES.length;
  const unchanged = { data: { created: 0, updated: 0, unchanged: count } };
  expect(await sendBatch(({ code }) => texts.get(code) ?? '')).toMatchObject(unchanged);
  expect(
    await sendBatch(({ code, field }) => (field === 'amount' ? `"${texts.get(code)}"` : (texts.get(code) ?? ''))),
  ).toMatchObject(unchanged);
  for (let form = 0; form < FORMS; form += 1) {
    const formOf = ({ forms, written }: (typeof VALUES)[number]): string => forms[form] ?? written;
    expect(await sendBatch(formOf)).toMatchObject(unchanged);
    expect(
      await sendBatch((value) => (value.field === 'amount' ? `" ${formOf(value)} "` : value.written)),
    ).toMatchObject(unchanged);
  }
  for (const { code, written } of VALUES) expect(exactly(texts.get(code) ?? '')).toBe(exactly(written));
});

it.each(VALUES)('$written of $field is found by what is shown, by what was sent, and by a part', async (value) => {
  const { code, field, written } = value;
  const text = (await shown()).get(code) ?? '';
  for (const each of new Set([text, written])) {
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
        const answer = await acme().send(method, to, { raw: body });
        expect(answer.status).toBe(422);
        if (json !== written) expect(answer.text).toMatch(/at most 15 significant digits\.|that it would be rounded\./);
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
