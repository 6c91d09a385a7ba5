/** What suites of the reads write and ask. */
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import type { RecordPage, RecordQueries, RecordQuery, TableRef } from '#app/queries/records.js';
import { textField } from '../fixtures/textField.js';
import type { RecordChange, WrittenRows } from '../support/writtenRows.js';

/** What is asked of the read side, and how tests write it. */
export type OpenQueries = () => Promise<{
  readonly reads: RecordQueries;
  readonly writer: WrittenRows;
}>;

export const places: AssetType = {
  name: 'places',
  label: 'Places',
  description: 'Places to test with.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'code',
  fields: [
    textField('code'),
    textField('name'),
    textField('size', { type: 'Decimal' }),
    textField('open', { type: 'Boolean' }),
    textField('notes', { type: 'LongText', filterable: false, sortable: false }),
  ],
  relationships: [],
};

export const placesWithRegion: AssetType = { ...places, fields: [...places.fields, textField('region')] };

export const acmePlaces: TableRef = { tenant: 'acme', table: 'places' };

/** `id(7)` is a UUID that sorts as 7. */
export const id = (n: number): string => `0198c1f2-0000-7000-8000-${String(n).padStart(12, '0')}`;

/** `at(7)` is a time 7 microseconds after another. */
export const at = (n: number): string => `2026-11-21T03:11:47.${String(n).padStart(6, '0')}Z`;

export const insert = (n: number, fields: Fields, batchId: string | null = null): RecordChange => ({
  kind: 'insert',
  id: id(n),
  at: at(n),
  batchId,
  fields: { code: `C${n}`, ...fields },
});

export const query = (more: Partial<RecordQuery> = {}): RecordQuery => ({
  filters: [],
  sort: [],
  offset: 0,
  limit: 25,
  ...more,
});

export const contains = (field: string, ...anyOf: string[]): RecordQuery['filters'][number] => ({
  kind: 'contains',
  field,
  anyOf,
});

/** What is shown at once. */
export async function write(writer: WrittenRows, work: () => Promise<void>): Promise<void> {
  await writer.begin();
  await work();
  await writer.commit();
}

/** Defines the table and applies changes, at once. */
export const fill = (
  writer: WrittenRows,
  changes: readonly RecordChange[],
  table: TableRef = acmePlaces,
): Promise<void> =>
  write(writer, async () => {
    await writer.defineTable(table, places);
    await writer.applyToTable(table, changes, { revision: 4, at: at(4) });
  });

export const recordsOn = <Shown extends object>({ records }: Pick<RecordPage, 'records'>): readonly Shown[] =>
  JSON.parse(`[${records}]`);

/** The values of one field (default: code) of the records that a query finds, and the total. */
export async function found(
  reads: Pick<RecordQueries, 'list'>,
  more: Partial<RecordQuery>,
  table: TableRef = acmePlaces,
  of = 'code',
): Promise<{ records: unknown[]; total: number }> {
  const page = await reads.list(table, query(more));
  return { records: recordsOn<{ [name: string]: unknown }>(page).map((record) => record[of]), total: page.total };
}
