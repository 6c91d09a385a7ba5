/** CSV (RFC 4180) that goes through a spreadsheet and comes back the same. The console writes records so, and its import reads with `writtenText`. */

/** A sheet runs what begins so, after spaces too. */
const FORMULA = /^(?:\s*[=+\-@]|[\t\r\n])/;
/** A sheet makes a number or a date of it, and shows and saves that: 00123 as 123, 8712345678901 as 8.71E+12, 1-2 as a day. */
const NUMBER_OR_DATE = /^\d[\d\s.,:/-]*(?:e[+-]?\d+)?$/i;
const STAYS_A_NUMBER = /^(?:0|[1-9]\d{0,10})$/;
/** A month beside a number, in English or Dutch, is a date as well: MAR1, 12-okt. */
const MONTH =
  /^\d{0,4}[\s./-]*(?:jan|feb|ma[ar]|mrt|apr|mei|may|jun|jul|aug|sep|o[ck]t|nov|dec)[a-z]{0,6}[\s./-]*\d{0,4}$/i;
const TRUE_OR_FALSE = /^(?:true|false|waar|onwaar)$/i;

/** Looks behind the apostrophes at the beginning, so that one more or one less does not change the answer. */
function needsApostrophe(text: string): boolean {
  const bare = text.replace(/^'+/, '');
  return (
    bare === '' ||
    FORMULA.test(bare) ||
    TRUE_OR_FALSE.test(bare) ||
    (MONTH.test(bare) && /\d/.test(bare)) ||
    (NUMBER_OR_DATE.test(bare) && !STAYS_A_NUMBER.test(bare))
  );
}

/** The cell of a text: with an apostrophe in front if a sheet would run or change it, or if it is empty, which is not null. */
export const textCell = (text: string): string => (needsApostrophe(text) ? `'${text}` : text);

/** The text of a cell that `textCell` wrote, or a person: `'s-Hertogenbosch` keeps its apostrophe. */
export const writtenText = (cell: string): string =>
  cell.startsWith("'") && needsApostrophe(cell) ? cell.slice(1) : cell;

/** Semicolons and tabs are quoted in any case: they part cells where the comma is the decimal mark. */
export function csvLine(cells: readonly string[], delimiter: ',' | ';' = ','): string {
  const quoted = cells.map((cell) =>
    /[";\t\r\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell,
  );
  return `${quoted.join(delimiter)}\r\n`;
}
