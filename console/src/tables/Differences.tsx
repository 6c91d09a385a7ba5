/** What differs: a field as it was and as it is, in every list of changes; and the records of a dry run or a comparison. */
import { Badge, Table, Text } from '@mantine/core';
import type { AssetType, Schemas } from '../api/client';
import { useText } from '../app/language';
import { valueText } from '../app/Rows';

type ChangedProps = { readonly label: string; readonly from: unknown; readonly to: unknown };

export function Changed({ label, from, to }: ChangedProps) {
  return (
    <Text size="sm" className="text">
      <b>{label}</b>: <bdi>{valueText(from) || '–'}</bdi> → <bdi>{valueText(to) || '–'}</bdi>
    </Text>
  );
}

/** What the fields of a table are called, the retired ones as well. */
export const labelsOf = ({ fields, retired }: Pick<AssetType, 'fields' | 'retired'>) =>
  new Map([...fields, ...retired].map(({ name, label }) => [name, label]));

type Difference = Pick<Schemas['Difference'], 'key' | 'fields'> & { readonly change: 'create' | 'update' | 'delete' };
type Props = { readonly type: AssetType | undefined; readonly differences: readonly Difference[] };

export function Differences({ type, differences }: Props) {
  const { tables } = useText();
  const labels = type && labelsOf(type);
  return (
    <Table aria-label={tables.differences}>
      <Table.Tbody>
        {differences.map(({ change, key, fields }) => (
          <Table.Tr key={key}>
            <Table.Td valign="top" w="16rem">
              <Badge>{tables.changes[change]}</Badge> <bdi>{key}</bdi>
            </Table.Td>
            <Table.Td>
              {Object.entries(fields).map(([name, { from, to }]) => (
                <Changed key={name} label={labels?.get(name) ?? name} from={from} to={to} />
              ))}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
