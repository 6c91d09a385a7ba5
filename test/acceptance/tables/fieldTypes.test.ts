/** The seven field types: what each takes, what it gives back, what it refuses (spec §2.1). */

import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { addTableOfEveryType, EVERY_TYPE } from '../everyType.js';
import { expectInvalid } from '../refusals.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });
beforeAll(() => addTableOfEveryType(acme()));

let last = 0;
const newCode = (): string => {
  last += 1;
  return `C${last}`;
};

const SAME = Symbol('the same');
const accepted: readonly (readonly [field: string, sent: unknown, shown: unknown])[] = [
  ['title', '', SAME],
  ['title', '  spaces stay  ', SAME],
  ['title', 'x'.repeat(255), SAME],
  ['title', 'quotes \' " ` and %_\\ and <b>&amp;</b>', SAME],
  ['title', '🚚'.repeat(255), SAME],
  ['title', null, null],
  ['text', 'y'.repeat(65_535), SAME],
  ['count', 9_007_199_254_740_991, SAME],
  ['amount', 12.5, SAME],
  ['amount', '12.50', 12.5],
  ['amount', '1e3', 1000],
  ['amount', '0.123456789012345', 0.123456789012345],
  ['day', '2026-11-21', SAME],
  ['day', '2024-02-29', SAME],
  ['moment', '2026-11-21T03:11:47.123456Z', SAME],
  ['flag', true, SAME],
];

it.each(accepted)('§2.1: %s takes %j', async (field, sent, shown) => {
  const wanted = shown === SAME ? sent : shown;
  const created = await acme().create(EVERY_TYPE, { code: newCode(), [field]: sent });
  expect(created[field]).toEqual(wanted);
  expect(await acme().get(EVERY_TYPE, created.id)).toEqual(created);

  const other = await acme().create(EVERY_TYPE, { code: newCode() });
  expect(other[field]).toBeNull();
  expect((await acme().update(EVERY_TYPE, other.id, { [field]: sent }))[field]).toEqual(wanted);

  const code = newCode();
  await acme().batch(EVERY_TYPE, [{ code, [field]: sent }]);
  const { data } = await acme().list(EVERY_TYPE, { sort: '-created_at' });
  expect(data.find((record) => record.code === code)?.[field]).toEqual(wanted);
});

const refused: readonly (readonly [field: string, why: string, json: string])[] = [
  ['title', 'a number', '1'],
  ['title', '256 characters', JSON.stringify('x'.repeat(256))],
  ['short', '6 characters of 5', '"123456"'],
  ['text', '65,536 characters', JSON.stringify('x'.repeat(65_536))],
  ['count', 'a fraction', '1.5'],
  ['count', 'a string', '"1"'],
  ['count', 'more than 2^53 - 1', '9007199254740992'],
  ['amount', 'a word', '"twelve"'],
  ['amount', 'a comma', '"12,5"'],
  ['amount', 'hexadecimal', '"0x10"'],
  ['amount', '16 digits as a number', '1234567890123456'],
  ['amount', 'a million digits', `"${'1'.repeat(1_000_000)}"`],
  ['amount', 'a text that a double rounds to 0', '"1e-400"'],
  ['day', 'no leap year', '"2026-02-29"'],
  ['day', 'a date and time', '"2026-01-01T00:00:00Z"'],
  ['day', 'another order', '"21-11-2026"'],
  ['moment', 'a date alone', '"2026-11-21"'],
  ['moment', 'a day that is none', '"2026-02-30T00:00:00Z"'],
  ['moment', 'the name of a zone', '"2026-11-21T03:11:47+01:00[Europe/Berlin]"'],
  ['moment', 'a year beyond 9999 in UTC', '"9999-12-31T23:59:59-01:00"'],
  ['flag', 'the text "true"', '"true"'],
];

itOfRequests.each(refused)(
  '§2.1, §7: %s refuses %s on create, update and batch, and nothing is stored',
  async (field, _why, json) => {
    const record = await acme().create(EVERY_TYPE, { code: newCode() });
    const path = `/api/v1/dynamic-assets/dyn/${EVERY_TYPE}/assets`;
    const item = `{"code":"${newCode()}","${field}":${json}}`;
    await expectInvalid(service(), [field], () => acme().send('POST', path, { raw: item }));
    await expectInvalid(service(), [field], () =>
      acme().send('PUT', `${path}/${record.id}`, { raw: `{"${field}":${json}}` }),
    );
    await expectInvalid(service(), [`items.1.${field}`], () =>
      acme().send('POST', `${path}/batch`, { raw: `{"items":[{"code":"${newCode()}"},${item}]}` }),
    );
    expect(await acme().get(EVERY_TYPE, record.id)).toEqual(record);
  },
);

it('decision: a decimal comes out as a JSON number, byte for byte as short as it can be', async () => {
  const { id } = await acme().create(EVERY_TYPE, { code: newCode(), amount: '0.10' });
  expect((await acme().getRecord(EVERY_TYPE, id)).text).toContain('"amount":0.1,');
});
