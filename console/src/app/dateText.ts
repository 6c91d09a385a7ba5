/** Dates as fields show them and people type them: `29-11-2026` in Dutch, `11/29/2026` as Americans write them; or ISO 8601. */

/** Not ISO 8601, with a year of four digits. */
export const DATE = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})$/;
const ISO = /^\d{4}-\d\d-\d\d$/;
const MOMENT = /^([\d-/.]+)(?:,?[ T]+(\d\d:\d\d(?::\d\d)?))?$/;
const DIGITS = { day: '2-digit', month: '2-digit', year: 'numeric' } as const;

/** Which comes first, the day or the month. */
export type Order = 'dmy' | 'mdy';
export const orderOf = (locale: string): Order => (dayText('2026-12-31', locale).startsWith('12') ? 'mdy' : 'dmy');

/** @returns `2026-11-29`; undefined for what is no day */
export function dayIn(typed: string, order: Order): string | undefined {
  const [, first = '', , second = '', year] = DATE.exec(typed.trim()) ?? [];
  const [day, month] = order === 'dmy' ? [first, second] : [second, first];
  const text =
    year === undefined
      ? typed.trim().replaceAll('/', '-')
      : [year, month.padStart(2, '0'), day.padStart(2, '0')].join('-');
  // The 31st of February would be a day in March.
  return ISO.test(text) && new Date(text).toJSON()?.startsWith(text) ? text : undefined;
}

/** As the person would type it. What is no day stays as it is. */
export const dayText = (day: string, locale: string): string =>
  ISO.test(day) ? new Date(day).toLocaleDateString(locale, { ...DIGITS, timeZone: 'UTC' }) : day;

/** A moment, which people read and give in their own zone, and the API in UTC. @returns undefined for what is no moment */
export function momentIn(typed: string, order: Order): string | undefined {
  const [, day = '', time = '00:00'] = MOMENT.exec(typed.trim()) ?? [];
  return new Date(`${dayIn(day, order)}T${time}`).toJSON() ?? undefined;
}

export function momentText(moment: string, locale: string): string {
  const [day = '', time] = localOf(moment).split('T');
  return time === undefined ? moment : `${dayText(day, locale)} ${time}`;
}

/** `2026-11-29T13:05:09` in the person's zone, as the browser's own field has it; empty for no moment. */
export function localOf(moment: string): string {
  const time = new Date(moment);
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
