/** What differs: a field as it was and as it is, in every list of changes; and the records of a dry run or a comparison. */
import { Badge, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Schemas } from '../api/client';
import { assetTypesQuery, ours } from '../api/queries';
import { useText } from '../app/language';
import { Names, Value } from '../app/Rows';

type ChangedProps = { readonly label: string | readonly string[]; readonly from: unknown; readonly to: unknown };

export function Changed({ label, from, to }: ChangedProps) {
  return (
    <Text size="sm" className="text">
      <b>
        <Names>{[label].flat()}</Names>
      </b>
      : <Value>{from}</Value> → <Value>{to}</Value>
    </Text>
  );
}

/** What people call a table, or a field of it or of any other: its label, or its name in words. */
export function useLabels(): (name: string, table?: string) => string {
  const types = useQuery(assetTypesQuery).data;
  const labels = useMemo(() => {
    const found = new Map<string, string>();
    for (const type of types ?? []) {
      found.set(type.name, type.label);
      for (const { name, label } of [...type.retired, ...type.fields])
        found.set(`${type.name} ${name}`, label).set(name, found.get(name) ?? label);
    }
    return found;
  }, [types]);
  return (name, table) => {
    const label = labels.get(`${table} ${name}`) ?? labels.get(name) ?? ours(name.replaceAll('_', ' '));
    return label.charAt(0).toUpperCase() + label.slice(1);
  };
}

/** From a page about a table or one of its records to all of them. */
export const TableLink = ({ table }: Pick<Props, 'table'>) => (
  <Link to="/tables/$table" params={{ table }}>
    {useLabels()(table)}
  </Link>
);

type Difference = Pick<Schemas['Difference'], 'key' | 'fields'> & { readonly change: 'create' | 'update' | 'delete' };
type Props = { readonly table: string; readonly differences: readonly Difference[] };

export function Differences({ table, differences }: Props) {
  const { tables } = useText();
  const labelOf = useLabels();
  return (
    <Table aria-label={tables.differences}>
      <Table.Tbody>
        {differences.map(({ change, key, fields }) => (
          <Table.Tr key={key}>
            <Table.Td valign="top" w={{ base: '40%', sm: '16rem' }}>
              <Badge>{tables.changes[change]}</Badge> <bdi>{key}</bdi>
            </Table.Td>
            <Table.Td>
              {Object.entries(fields).map(([name, { from, to }]) => (
                <Changed key={name} label={labelOf(name, table)} from={from} to={to} />
              ))}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
