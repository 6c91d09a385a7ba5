/** Spreadsheets take a file without a byte order mark for Windows-1252. @param parts without it, as `response.text()` drops it */
export function saveCsv(name: string, parts: readonly string[]): void {
  const file = new Blob(['\uFEFF', ...parts], { type: 'text/csv' });
  const url = URL.createObjectURL(file);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
