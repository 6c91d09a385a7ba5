/** The records of other tables that fields name, by what people call them, each with a link. */
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AssetType } from '../api/client';
import { Cut, valueText } from '../app/Rows';
import type { Fields } from '../orders/draft';
import { nameOf, pickedKey, recordsOf } from '../orders/LookUp';
import { readRecord } from './RecordForm';

/** The link of a field's value; undefined if it names no record that is there. */
export type LinkOf = (field: string, value: string) => ReactNode | undefined;

export function useReferences({ relationships }: AssetType, records: readonly Fields[]): LinkOf {
  const client = useQueryClient();
  const references = relationships.filter(({ kind }) => kind === 'belongs_to');
  const found = useQueries({
    queries: references.map(({ table, key, field }) => {
      const values = [...new Set(records.map((record) => valueText(record[field])))].filter((value) => value !== '');
      const listed = values.map((value) => value.replaceAll(',', '\\,')).join(',');
      return {
        queryKey: ['records', table, 'named', key, listed],
        enabled: listed !== '',
        queryFn: async () => {
          const one = async (id: string) => (await readRecord(table, id))?.record ?? [];
          const all = () => recordsOf(table, { perPage: values.length, [`filter[${key}][in]`]: listed });
          // Lists are not filtered by id.
          const named = key === 'id' ? (await Promise.all(values.map(one))).flat() : await all();
          // Forms show what is picked by its name.
          for (const each of named) client.setQueryData(pickedKey(table, valueText(each[key])), each);
          return named;
        },
      };
    }),
  });
  return (name, value) => {
    const at = references.findIndex(({ field }) => field === name);
    const { table = '', key = '' } = references[at] ?? {};
    const record = found[at]?.data?.find((each) => each[key] === value);
    if (record === undefined) return undefined;
    return (
      <Link to="/tables/$table/records/$recordId" params={{ table, recordId: record.id }}>
        <Cut>{nameOf(record)}</Cut>
      </Link>
    );
  };
}
