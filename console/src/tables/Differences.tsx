/** What differs: a field as it was and as it is, in every list of changes. */
import { Text } from '@mantine/core';
import { valueText } from '../app/DataTable';

type ChangedProps = { readonly label: string; readonly from: unknown; readonly to: unknown };

export function Changed({ label, from, to }: ChangedProps) {
  return (
    <Text size="sm" className="text">
      <b>{label}</b>: <bdi>{valueText(from) || '–'}</bdi> → <bdi>{valueText(to) || '–'}</bdi>
    </Text>
  );
}
