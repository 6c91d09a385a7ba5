/** Times as the serialisers of other systems write them: in bodies and filters, one instant is one value (spec §2.1, §4.3, §4.7). */
import { addTableOfEveryType, EVERY_TYPE } from '../everyType.js';
import { useService } from '../useService.js';

const { acme } = useService({ tenants: { acme: 'dyn_stock_order' } });
beforeAll(() => addTableOfEveryType(acme()));

/** All of one instant; some serialisers write no fraction of a second. */
const SHOWN = '2026-01-02T03:04:05.000000Z';
const SAME_INSTANT: readonly (readonly [serialiser: string, written: string])[] = [
  ['this service', SHOWN],
  ['JavaScript toISOString, Salesforce API', '2026-01-02T03:04:05.000Z'],
  ['Salesforce SOAP, Jackson', '2026-01-02T03:04:05.000+0000'],
  ['Java Instant, Go RFC3339Nano, Ruby iso8601', '2026-01-02T03:04:05Z'],
  ['.NET DateTimeOffset "O"', '2026-01-02T08:34:05.0000000+05:30'],
  ['.NET "u"', '2026-01-02 03:04:05Z'],
  ['SQL Server datetimeoffset', '2026-01-02 04:04:05.0000000 +01:00'],
  ['Python str', '2026-01-02 03:04:05+00:00'],
  ['PostgreSQL', '2026-01-02 04:04:05+01'],
  ['MySQL', '2026-01-02 03:04:05'],
  ['ISO 8601 with a comma', '2026-01-02T03:04:05,000Z'],
  ['ISO 8601 with an hour as its zone', '2026-01-02T05:04:05+02'],
];

it('each is taken by create and PUT, and the same instant in any form is unchanged, in a batch as well', async () => {
  for (const [n, [who, written]] of SAME_INSTANT.entries()) {
    const created = await acme().create(EVERY_TYPE, { code: `b${n}`, moment: written });
    expect([who, created.moment]).toEqual([who, SHOWN]);
    const updated = await acme().update(EVERY_TYPE, created.id, { moment: written });
    expect([who, updated.moment, updated.updated_at]).toEqual([who, SHOWN, created.updated_at]);
  }
  for (const shift of [0, 1, 7]) {
    const items = SAME_INSTANT.map((_, n) => ({
      code: `b${n}`,
      moment: SAME_INSTANT[(n + shift) % SAME_INSTANT.length]?.[1],
    }));
    expect(await acme().batch(EVERY_TYPE, items)).toMatchObject({ unchanged: SAME_INSTANT.length });
  }
});

it.each([
  ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000000Z'],
  ['2026-01-02 03:04-03', '2026-01-02T06:04:00.000000Z'],
  ['2026-01-02T03:04:05.123456000+01:00', '2026-01-02T02:04:05.123456Z'],
  ['2024-02-29T23:30:00-01:00', '2024-03-01T00:30:00.000000Z'],
])('%s is shown as %s', async (written, shown) => {
  expect((await acme().create(EVERY_TYPE, { code: `shown ${written}`, moment: written })).moment).toBe(shown);
});

describe('filters', () => {
  beforeAll(() =>
    acme().batch(EVERY_TYPE, [
      { code: '~f0', moment: '2026-01-02T03:04:04.999999Z' },
      { code: '~f1', moment: SHOWN },
      { code: '~f2', moment: '2026-01-02T03:04:05.000001Z' },
    ]),
  );
  const found = async (filter: string, written: string) => {
    const { data } = await acme().list(EVERY_TYPE, `filter[code]=~f&sort=code&filter[moment]${filter}=${written}`);
    return data.map(({ code }) => code);
  };

  it('each finds the instant', async () => {
    for (const [who, written] of SAME_INSTANT)
      expect([who, await found('[eq]', encodeURIComponent(written))]).toEqual([who, ['~f1']]);
  });

  it.each(['2026-01-02T24:00:00Z', '2026-12-31T23:59:60Z', '2026-02-30T00:00Z', '2026-01-02T03:04:05.1234567Z'])(
    '%s is 400, and the reason says what is wanted',
    async (written) => {
      for (const operator of ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in']) {
        const answer = await acme().getList(EVERY_TYPE, { [`filter[moment][${operator}]`]: written });
        expect([answer.status, answer.text]).toEqual([
          400,
          expect.stringContaining('must be an ISO 8601 date and time that exists'),
        ]);
      }
    },
  );
});

it('what info and the OpenAPI document say of a DateTime takes the same', async () => {
  const info = JSON.parse((await acme().info(EVERY_TYPE)).text);
  const document = JSON.parse((await acme().send('GET', '/openapi.json')).text);
  const ofInfo = info.data.json_schema.properties.moment;
  const ofFilter = document.components.schemas.DateTimeFilter;
  const patterns = [ofInfo.anyOf[0].pattern, ofFilter.pattern].map((pattern) => new RegExp(pattern, 'u'));
  for (const pattern of patterns) {
    for (const [, written] of SAME_INSTANT) expect(written).toMatch(pattern);
    for (const refused of ['2026-01-02', '2026-01-02T24:00Z', '2026-01-02T03:04:60Z', '2026-01-02T03:04:05.1234567Z']) {
      expect(refused).not.toMatch(pattern);
    }
  }
});
