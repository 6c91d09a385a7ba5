/** Numbers and times as systems write them: in each form one value is one value, and none is rounded (spec §2.1). */
import fc from 'fast-check';
import { parseJson } from '#app/api/jsonBody.js';
import { ValidationError } from '#app/commands/context.js';
import { type FieldType, fieldRules, Refusal } from '#app/domain/assetTypes/fieldTypes.js';
import { random } from '../../property/runs.js';

/** The value as it is shown, or why it is refused. */
function taken(type: FieldType, value: unknown): { readonly shown: string } | { readonly refused: string } {
  const read = fieldRules(type).read(value, 0);
  return read instanceof Refusal ? { refused: read.message } : { shown: JSON.stringify(read) };
}

/** As `taken`, of a number that stands in a body as it is. */
const takenNumber = (type: FieldType, number: string): ReturnType<typeof taken> => {
  try {
    return taken(type, parseJson(number));
  } catch (error) {
    if (error instanceof ValidationError) return { refused: error.message };
    throw error;
  }
};

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
          const asNumber = takenNumber('Decimal', form);
          if ('shown' in result) expect(asNumber).toEqual(result);
          else expect(asNumber).toHaveProperty('refused');
        }
        if ('shown' in result) {
          expect(exactly(result.shown)).toBe(exactly(first));
          expect(takenNumber('Decimal', result.shown)).toEqual(result);
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
