import { Badge } from '@mantine/core';
import type { Schemas } from '../api/client';
import { useText } from '../app/language';

const COLOURS = { open: 'gray', succeeded: 'green', failed: 'red' } as const;

export function DeliveryStateBadge({ state }: { readonly state: Schemas['Delivery']['state'] }) {
  return (
    <Badge color={COLOURS[state]} variant="dot" tt="none">
      {useText().webhooks.state[state]}
    </Badge>
  );
}
