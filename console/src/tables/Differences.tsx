/** What differs: a field as it was and as it is, in every list of changes; and the records that a dry run shows. */
import { Table, Text } from '@mantine/core';
import type { AssetType, Schemas } from '../api/client';
import { valueText } from '../app/DataTable';
import { useText } from '../app/language';

type ChangedProps = { readonly label: string; readonly from: unknown; readonly to: unknown };

export function Changed({ label, from, to }: ChangedProps) {
  return (
    <Text size="sm" className="text">
      <b>{label}</b>: <bdi>{valueText(from) || '–'}</bdi> → <bdi>{valueText(to) || '–'}</bdi>
    </Text>
  );
}

export function Differences({
  type,
  differences,
}: {
  readonly type: AssetType;
  readonly differences: readonly Schemas['Difference'][];
}) {
  const { imports: text, tables } = useText();
  const labels = new Map(type.fields.map(({ name, label }) => [name, label]));
  if (differences.length === 0) return null;
  return (
    <details open>
      <summary>{text.firstDifferences(differences.length)}</summary>
      <Table.ScrollContainer minWidth={400} mah="60vh">
        <Table aria-label={tables.differences}>
          <Table.Tbody>
            {differences.map(({ change, key, fields }) => (
              <Table.Tr key={key}>
                <Table.Td valign="top">
                  {tables.changes[change]} <bdi>{key}</bdi>
                </Table.Td>
                <Table.Td>
                  {Object.entries(fields).map(([name, { from, to }]) => (
                    <Changed key={name} label={labels.get(name) ?? name} from={from} to={to} />
                  ))}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </details>
  );
}
