import { ValidationError } from '../context.js';

type Bound<T> = readonly [field: string, time: T];

/**
 * A range of time that is over.
 * @param from ISO 8601 with its zone, and `to` as well; `to` is now by default
 * @returns both in UTC with six digits, as the log writes times: they compare as text
 * @throws ValidationError for a range that is empty or ends in the future
 */
export function pastRange(
  now: string,
  [fromField, from]: Bound<string>,
  [toField, to = now]: Bound<string | undefined>,
): { readonly from: string; readonly to: string } {
  const range = { from: inMicroseconds(from), to: inMicroseconds(to) };
  if (range.to > now) throw new ValidationError({ [toField]: [`The ${toField} field must not be in the future.`] });
  if (range.from >= range.to) {
    const message = `The ${fromField} field must be before ${toField}, which is ${range.to}.`;
    throw new ValidationError({ [fromField]: [message] });
  }
  return range;
}

/** `2026-11-21T04:11:47+01:00` as `2026-11-21T03:11:47.000000Z`; offsets are whole minutes, so the fraction stays. */
function inMicroseconds(time: string): string {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
  return `${new Date(time).toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`;
}
