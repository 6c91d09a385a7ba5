/** Numbers and times as systems write them: in each form one value is one value, and none is rounded (spec §2.1). */
import fc from 'fast-check';
import { parseJson } from '#app/api/jsonText.js';
import type { FieldType } from '#app/domain/assetTypes/fieldTypes.js';
import { valueSchema } from '#app/domain/assetTypes/valueSchemas.js';
import { random } from '../../property/runs.js';

/** The value as it is shown, or why it is refused. */
function taken(type: FieldType, value: unknown): { readonly shown: string } | { readonly refused: string } {
  const parsed = valueSchema(type).safeParse(value);
  return parsed.success ? { shown: JSON.stringify(parsed.data) } : { refused: parsed.error.issues[0]?.message ?? '' };
}

/** As `taken`, of a number that stands in a body as it is. */
const takenNumber = async (type: FieldType, number: string) => taken(type, await parseJson(number));

/** `-12.50e1` is -125 times ten to the power of 0: the same for all forms of a value, and for no other one. */
function exactly(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return significant === '' ? '0' : `${sign.replace('+', '')}${significant} ${power}`;
}

const digitsOf = (text: string): number => exactly(text).replace(/^-/, '').split(' ')[0]?.length ?? 0;

/** One value in the forms that JSON allows. */
const forms = fc
  .record({
    sign: fc.constantFrom('', '-'),
    digits: fc.stringMatching(/^[1-9]\d{0,17}$/),
    exponent: fc.oneof(fc.integer({ min: -345, max: 320 }), fc.integer({ min: -20, max: 25 })),
    zeros: fc.integer({ min: 0, max: 30 }),
  })
  .map(({ sign, digits, exponent, zeros }) => {
    const more = '0'.repeat(zeros);
    const plain =
      exponent >= 0
        ? `${digits}${'0'.repeat(exponent)}`
        : exponent > -digits.length
          ? `${digits.slice(0, exponent)}.${digits.slice(exponent)}`
          : `0.${'0'.repeat(-exponent - digits.length)}${digits}`;
    return [
      `${digits}e${exponent}`,
      `${digits}.${more}0E${exponent < 0 ? '' : '+'}${exponent}`,
      `${digits}${more}e${exponent - zeros}`,
      `0.${more}${digits}e${exponent + zeros + digits.length}`,
      plain,
      plain.includes('.') ? `${plain}${more}` : `${plain}.0${more}`,
    ].map((form) => `${sign}${form}`);
  });

describe('a Decimal', () => {
  it('of any magnitude is the same as a number and as a text, in every form, and is shown as it was or refused', async () => {
    const seen = { taken: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(forms, async (written) => {
        const [first = ''] = written;
        const result = taken('Decimal', first);
        for (const form of written) {
          expect(taken('Decimal', form)).toEqual(result);
          expect(await takenNumber('Decimal', form)).toEqual(result);
        }
        if ('shown' in result) {
          expect(exactly(result.shown)).toBe(exactly(first));
          expect(await takenNumber('Decimal', result.shown)).toEqual(result);
          expect(taken('Decimal', result.shown)).toEqual(result);
        } else if (digitsOf(first) > 15) {
          expect(result.refused).toBe('must have at most 15 significant digits.');
        } else {
          // Doubles have 15 digits between these.
          const size = Math.abs(Number(first));
          expect(size < 2.3e-308 || size > 1.7e308).toBe(true);
          expect(result.refused).toBe('must not be so large, or so close to 0, that it would be rounded.');
        }
        seen['shown' in result ? 'taken' : 'refused'] += 1;
      }),
      random(150),
    );
    expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(5);
  });
});

describe('an Integer', () => {
  it.each([
    ['1.0', '1'],
    ['1e2', '100'],
    ['1200e-2', '12'],
    ['-0', '0'],
    ['-0.0', '0'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740991.000000000000000', '9007199254740991'],
    ['-9.007199254740991e15', '-9007199254740991'],
  ])('%s of a body is %s', async (written, shown) => {
    expect(await takenNumber('Integer', written)).toEqual({ shown });
  });

  it.each([
    '9007199254740992',
    '9007199254740993',
    '-9007199254740993',
    '1e16',
    '1e20',
    '1e400',
    '12345678901234567890',
  ])('%s is refused as too large', async (written) => {
    const refused = 'must be an integer between -(2^53 - 1) and 2^53 - 1.';
    expect(await takenNumber('Integer', written)).toEqual({ refused });
  });

  it.each(['1.5', '1e-1', '3e-324', '1.00000000000000000001'])('%s is refused', async (written) => {
    expect(await takenNumber('Integer', written)).toHaveProperty('refused');
  });
});

describe('a DateTime', () => {
  it('of any moment and zone is one value, however it is written', () => {
    const moment = fc.record({
      micros: fc.bigInt({ min: -62135510400000000n, max: 253402214400000000n }),
      zone: fc.integer({ min: -1439, max: 1439 }),
      zeros: fc.integer({ min: 0, max: 6 }),
      T: fc.constantFrom('T', 't', ' '),
      Z: fc.constantFrom('Z', 'z'),
      point: fc.constantFrom('.', ','),
    });
    fc.assert(
      fc.property(moment, ({ micros, zone, zeros, T, Z, point }) => {
        const second = (micros - (((micros % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n;
        const fraction = String(micros - second * 1_000_000n).padStart(6, '0');
        const at = (minutes: number) => new Date((Number(second) + minutes * 60) * 1000).toISOString().slice(0, 19);
        const shown = JSON.stringify(`${at(0)}.${fraction}Z`);
        const [hours, minutes] = [Math.trunc(Math.abs(zone) / 60), Math.abs(zone) % 60];
        const two = (n: number) => String(n).padStart(2, '0');
        const local = `${at(zone).replace('T', T)}${point}${fraction}${'0'.repeat(zeros)}`;
        const sign = zone < 0 ? '-' : '+';
        for (const written of [
          `${at(0).replace('T', T)}${point}${fraction}${Z}`,
          `${at(0)}.${fraction}`,
          `${local}${sign}${two(hours)}:${two(minutes)}`,
          `${local}${sign}${two(hours)}${two(minutes)}`,
          `${local} ${sign}${two(hours)}:${two(minutes)}`,
          ...(minutes === 0 ? [`${local}${sign}${two(hours)}`] : []),
        ]) {
          expect([written, taken('DateTime', written)]).toEqual([written, { shown }]);
        }
        if (fraction.endsWith('000')) return;
        expect(taken('DateTime', `${local}1Z`)).toEqual({
          refused: 'must have only zeros behind six digits of a second: microseconds are kept, and nothing is rounded.',
        });
      }),
      random(100),
    );
  });

  it('of OData is milliseconds since 1970', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -62135510400000, max: 253402214400000 }),
        fc.constantFrom('', '+0000', '-0000'),
        (ms, zone) => {
          const shown = JSON.stringify(new Date(ms).toISOString().replace('Z', '000Z'));
          expect(taken('DateTime', `/Date(${ms}${zone})/`)).toEqual({ shown });
        },
      ),
      random(100),
    );
  });

  it.each([
    ['2026-01-02T24:00:00Z'],
    ['2026-12-31T23:59:60Z'],
    ['2026-01-02T03:60Z'],
    ['2026-02-29T00:00:00Z'],
    ['2026-04-31T00:00:00Z'],
    ['2026-13-01T00:00:00Z'],
    ['2026-00-01T00:00:00Z'],
    ['2026-01-00T00:00:00Z'],
    ['1900-02-29T00:00:00+01:00'],
    ['10000-01-01T00:00:00Z'],
    ['+010000-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59-00:01'],
    ['0000-01-01T00:00:00+00:01'],
    ['2026-01-02T03:04:05+24:00'],
    ['2026-01-02T03:04:05+01:60'],
    ['2026-01-02T03:04:05+1'],
    ['2026-01-02T03:04:05+01:00[Europe/Berlin]'],
    ['2026-01-02T03:04:05 UTC'],
    ['2026-01-02T03:04:05.Z'],
    ['2026-01-02T03:04.5Z'],
    ['2026-01-02T03Z'],
    ['2026-01-02'],
    ['2026-01-02Z'],
    ['20260102T030405Z'],
    ['2026-W01-5T03:04:05Z'],
    ['02.01.2026 03:04:05'],
    ['2026-01-02  03:04:05'],
    [' 2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05Z\n'],
    ['/Date(253402300800000)/'],
    ['/Date(9999999999999999)/'],
    ['/Date()/'],
    ['/Date(1.5)/'],
    ['Date(1767323045000)'],
    [''],
  ])('%j is refused, and the answer shows the form', (written) => {
    expect(taken('DateTime', written)).toEqual({
      refused:
        'must be an ISO 8601 date and time that exists, such as 2026-11-21T03:11:47Z or 2026-11-21T04:11:47.123456+01:00.',
    });
  });

  it('of OData with an offset is refused: some systems count its milliseconds in UTC, others in the zone', () => {
    for (const written of ['/Date(1767323045000+0100)/', '/Date(1767323045000-0060)/']) {
      expect(taken('DateTime', written)).toEqual({
        refused: 'must have no other offset than +0000 in a /Date(…)/: systems differ in what it means.',
      });
    }
  });
});
