/** A table, or what its filters leave of it, as a CSV file: fetched page by page, so that any size works. */
import { ApiError, type AssetType, api, bodyOf } from '../api/client';
import { Act } from '../app/Dialogs';
import { useLanguage } from '../app/language';
import { decimalMark } from '../app/numberText';
import { SYSTEM_FIELDS } from '../app/Rows';
import { cursorOf } from '../app/usePages';
import { csvOf } from './csv';

/** Records on a page: fewer where they are large. */
const PAGE_SIZES = [1000, 100, 25] as const;
const TOO_LARGE = 413;

type Props = { readonly type: AssetType; readonly filters: { readonly [parameter: string]: string } };

const TIMES = ['created_at', 'updated_at'].map((name) => ({ name, type: 'DateTime' }));

export function DownloadTable({ type: { name: table, fields }, filters }: Props) {
  const { language, text } = useLanguage();
  const columns = [...fields.filter(({ name }) => !SYSTEM_FIELDS.includes(name)), ...TIMES];
  const download = async () => {
    const pages: string[] = [];
    let cursor: string | undefined = '';
    let size = 0;
    while (cursor !== undefined) {
      try {
        const query = new URLSearchParams({ ...filters, perPage: String(PAGE_SIZES[size] ?? 25), cursor });
        const { data, links } = await bodyOf(
          api.GET('/api/v1/platform/tables/{table}/assets', {
            params: { path: { table }, query: Object.fromEntries(query) as object },
            querySerializer: () => query.toString(),
          }),
        );
        const csv = csvOf(columns, data, decimalMark(language));
        // Each page begins with the names of the fields.
        pages.push(pages.length === 0 ? csv : csv.slice(csv.indexOf('\n') + 1));
        cursor = cursorOf(links.next);
      } catch (error) {
        const isTooLarge = error instanceof ApiError && error.status === TOO_LARGE && size + 1 < PAGE_SIZES.length;
        if (!isTooLarge) throw error;
        size += 1;
      }
    }
    saveCsv(`${table}.csv`, pages);
  };
  return <Act label={text.common.download} act={download} />;
}

/** Spreadsheets take a file without a byte order mark for Windows-1252. @param parts without it, as `response.text()` drops it */
export function saveCsv(name: string, parts: readonly string[]): void {
  const file = new Blob(['\uFEFF', ...parts], { type: 'text/csv' });
  const url = URL.createObjectURL(file);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
