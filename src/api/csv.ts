/** CSV (RFC 4180). */

/** Programs that show tables take a text that begins so for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

const cellOf = (value: string): string => {
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

export const csvLine = (values: readonly string[]): string => `${values.map(cellOf).join(',')}\r\n`;
