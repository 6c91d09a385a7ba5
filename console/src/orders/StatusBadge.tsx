import { Badge } from '@mantine/core';
import type { OrderRow } from '../api/client';
import { useText } from '../app/language';

const COLOURS = {
  pending_validation: 'gray',
  saved: 'gray',
  validated: 'blue',
  rejected: 'dark',
  submitted: 'cyan',
  submit_failed: 'red',
  completed: 'green',
  failed: 'red',
} as const;

export function StatusBadge({ status }: { readonly status: OrderRow['processing_status'] }) {
  const text = useText();
  if (status === null) return null;
  return <Badge color={COLOURS[status]}>{text.status[status]}</Badge>;
}
