/** Cells of a sheet that are pasted into the grid of an order's parts. */
import type { QueryClient } from '@tanstack/react-query';
import { parse } from 'papaparse';
import type { AnyRecord, AssetField, AssetType } from '../api/client';
import { cellValue } from '../tables/cells';
import { guessDialect } from '../tables/csv';
import type { Fields } from './draft';
import { pickedKey, recordsLike } from './LookUp';

/** Undefined for a single cell, which an input takes as it is. */
export function cellsIn(text: string, { type }: AssetField): readonly (readonly string[])[] | undefined {
  const rows = parse<string[]>(text.replace(/\r?\n$/, ''), { delimiter: '\t' }).data;
  const isOneText = type === 'LongText' && !text.includes('\t');
  return isOneText || (rows.length === 1 && rows[0]?.length === 1) ? undefined : rows;
}

type Column = { readonly field: AssetField; readonly reference: AssetType['relationships'][number] | undefined };

/**
 * @param columns from the one of the first cell on
 * @returns the fields that each row fills, and the names of records that do not exist @throws ApiError
 */
export async function readCells(
  client: QueryClient,
  cells: readonly (readonly string[])[],
  columns: readonly Column[],
  decimal: string,
) {
  const dialect = await guessDialect(new Blob([cells.map((row) => row.join('\t')).join('\n')]), decimal);
  const unknown = new Set<string>();
  const valueIn = async (cell: string, { field, reference }: Column): Promise<unknown> => {
    if (reference === undefined || cell.trim() === '') return cellValue(cell, field.type, dialect);
    const { table, key } = reference;
    const record = await client.fetchQuery({
      queryKey: ['named', table, cell.trim()],
      queryFn: async () => recordNamed(await recordsLike(table, cell.trim()), cell.trim()),
      staleTime: 60_000,
    });
    if (record === null) {
      unknown.add(cell.trim());
      return null;
    }
    client.setQueryData(pickedKey(table, String(record[key])), record);
    return record[key];
  };
  const rows = cells.map(async (row): Promise<Fields> => {
    const values = row.slice(0, columns.length).map(async (cell, at) => {
      const column = columns[at];
      return column === undefined ? [] : [[column.field.name, await valueIn(cell, column)] as const];
    });
    return Object.fromEntries((await Promise.all(values)).flat());
  });
  return { rows: await Promise.all(rows), unknown: [...unknown] };
}

/** By its name, code, EAN or another of its texts; null where there is none, or more than one. */
function recordNamed(records: readonly AnyRecord[], name: string): AnyRecord | null {
  const same = (value: unknown) => typeof value === 'string' && value.toLowerCase() === name.toLowerCase();
  const [record, other] = records.filter((each) => Object.values(each).some(same));
  return other === undefined ? (record ?? null) : null;
}
