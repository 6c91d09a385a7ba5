/** An approval is sent some seconds after it was given, so that a person can take it back. */
import { Anchor, Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, bodyOf, type Order } from '../api/client';
import { useKeys } from '../app/keys';
import { useText } from '../app/language';
import { Names } from '../app/Rows';

const TAKEN_BACK_WITHIN_MS = 8_000;

/** What takes each approval back that is not sent yet, by the order's id. */
const waiting = new Map<string, () => void>();

export const isToBeApproved = (orderId: string): boolean => waiting.has(orderId);

/** @throws ApiError */
export const approve = (id: string, body: { override?: boolean; reason?: string } = {}) =>
  bodyOf(api.POST('/api/v1/platform/orders/{order_id}/approve', { params: { path: { order_id: id } }, body }));

/** What a person calls an order. */
export const namesOf = ({ customer_reference, id, buyer_customer_party: customer }: Order): readonly string[] =>
  [customer_reference ?? id.slice(0, 8), customer?.name].filter((name) => typeof name === 'string');

/** Of an order that is validated, with a reason if it has problems. What comes of it is told, wherever the person is by then. */
export function useApproveLater(): (order: Order, reason?: string) => void {
  const text = useText();
  const client = useQueryClient();
  return (order, reason) => {
    const { id } = order;
    if (waiting.has(id)) return;
    const name = <Names key={id}>{namesOf(order)}</Names>;
    const said = (words: string) => [`${words}: `, name];
    const told = { id: crypto.randomUUID(), withCloseButton: false, autoClose: false } as const;
    const send = async (): Promise<void> => {
      waiting.delete(id);
      try {
        await approve(id, reason === undefined ? {} : { override: true, reason });
        notifications.update({ ...told, color: 'green', message: said(text.orders.approvedAt), autoClose: 4_000 });
      } catch (error) {
        const message = (
          <Text size="sm">
            <Anchor href={`/console/orders/${id}`}>{name}</Anchor>{' '}
            {error instanceof Error ? error.message : String(error)}
          </Text>
        );
        notifications.update({ ...told, color: 'red', title: text.orders.notApproved, message, withCloseButton: true });
      }
      await client.invalidateQueries({ queryKey: ['orders'] });
    };
    const timer = setTimeout(() => void send(), TAKEN_BACK_WITHIN_MS);
    const takeBack = (): void => {
      clearTimeout(timer);
      waiting.delete(id);
      notifications.update({ ...told, message: said(text.orders.notApproved), autoClose: 4_000 });
    };
    waiting.set(id, takeBack);
    notifications.show({
      ...told,
      message: (
        <Group justify="space-between" wrap="nowrap">
          <Text size="sm">
            {name} {text.orders.toBeApproved}
          </Text>
          <Button size="compact-sm" variant="default" style={{ flexShrink: 0 }} onClick={takeBack}>
            {text.tables.undo}
          </Button>
        </Group>
      ),
    });
  };
}

/** The key `u` takes the latest approval back. The browser asks before it closes a page with approvals that are not sent. */
export function useTakeBack(): void {
  useKeys({ u: () => [...waiting.values()].at(-1)?.() });
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => {
      if (waiting.size > 0) event.preventDefault();
    };
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, []);
}
