/** What a clerk looks at first: who wants what, by when, and how sure the platform is. */
import { Badge, Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { memo, type ReactNode } from 'react';
import { type AnyRecord, api, dataOf, type Order, type OrderRow } from '../api/client';
import { localeOf, useLanguage, useText } from '../app/language';
import { useRoles } from '../app/useRoles';
import { REFUSED, TO_VALIDATE } from './queue';

export const Facts = memo(({ order }: { readonly order: Order }) => {
  const { orders } = useText();
  const name = order.buyer_customer_party?.name;
  const date = order.delivery_date;
  const total = useTotal(order);
  return (
    <Paper withBorder p="md">
      <Group gap="xl">
        <Fact label={orders.customer}>{typeof name === 'string' && <bdi>{name}</bdi>}</Fact>
        <Fact label={orders.delivery}>{date !== null && <DeliveryDate date={date} of={order} />}</Fact>
        <Fact label={orders.reference}>{order.customer_reference}</Fact>
        <Fact label={orders.accuracy}>{accuracyText(order.accuracy)}</Fact>
        {total !== undefined && <Fact label={orders.total}>{total}</Fact>}
      </Group>
    </Paper>
  );
});

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <Stack gap={2}>
      <Text size="xs">{label}</Text>
      <Text fw={600} component="div">
        {children || '–'}
      </Text>
    </Stack>
  );
}

/** A share, or a percentage, as the platform has sent it. */
export const accuracyText = (accuracy: number | null): string =>
  accuracy === null ? '' : `${Math.round(accuracy * (accuracy <= 1 ? 100 : 1))} %`;

const STILL_TO_DO = [...TO_VALIDATE.states, ...REFUSED.states];
const DAY_MS = 86_400_000;

type DeliveryDateProps = {
  /** `2026-12-01` */
  readonly date: string;
  readonly of: Pick<OrderRow, 'processing_status'>;
};

/** With how many days are left; in red where somebody is late with it. */
export function DeliveryDate({ date, of }: DeliveryDateProps) {
  const { language } = useLanguage();
  const today = new Date();
  const days = Math.round(
    (Date.parse(date) - Date.UTC(today.getFullYear(), today.getMonth(), today.getDate())) / DAY_MS,
  );
  if (Number.isNaN(days)) return <>{date}</>;
  const isToDo = STILL_TO_DO.includes(of.processing_status);
  const shown = new Date(date).toLocaleDateString(localeOf(language), { dateStyle: 'medium', timeZone: 'UTC' });
  const left = new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(days, 'day');
  return (
    <Text span inherit {...(isToDo && days < 0 ? { className: 'late' } : {})}>
      <time dateTime={date}>{shown}</time>
      {isToDo && ` · ${left}`}
    </Text>
  );
}

/** Of the lines, with the currency; undefined where one has no price. */
function useTotal(order: Order): string | undefined {
  const { language } = useLanguage();
  const lines: readonly AnyRecord[] = Array.isArray(order.lines) ? order.lines : [];
  const prices = lines.map(({ quantity, unit_price: price }) =>
    typeof price === 'number' ? Number(quantity) * price : Number.NaN,
  );
  const total = prices.reduce((sum, price) => sum + price, 0);
  if (prices.length === 0 || Number.isNaN(total)) return undefined;
  const { currency_code: currency } = order as { readonly currency_code?: string | null };
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `${currency ?? ''} ${new Intl.NumberFormat(language, digits).format(total)}`.trim();
}

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
  return status && <Badge color={COLOURS[status]}>{text.status[status]}</Badge>;
}

const ASKED_EACH_MS = 20_000;

/** Which colleagues have the order open. @param isHere whether it is open here, which is said to them */
export function OpenBy({ id, isHere = false }: { readonly id: string; readonly isHere?: boolean }) {
  const { orders } = useText();
  const { isValidator } = useRoles();
  const open = useQuery({
    enabled: isValidator,
    queryKey: ['open-orders', isHere && id],
    queryFn: () => dataOf(api.PUT('/api/v1/platform/orders/open', { body: isHere ? { order_id: id } : {} })),
    refetchInterval: ASKED_EACH_MS,
  });
  const names = open.data?.flatMap(({ order_id, name }) => (order_id === id ? [name] : [])) ?? [];
  return names.length > 0 && <Badge color="orange">{orders.openBy(names.join(', '))}</Badge>;
}
