/** What a clerk looks at first in an order and in a list: its state, by when it is wanted, and how sure the platform is. */
import { Badge, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type AnyRecord, api, dataOf, type Order, type OrderRow } from '../api/client';
import { useRoles } from '../api/queries';
import { useLanguage, useText, When } from '../app/language';
import { Names } from '../app/Rows';
import { REFUSED, TO_VALIDATE } from './queue';

/** How sure the platform is, and what the order costs. */
export function Facts({ order }: { readonly order: Order }) {
  const { orders } = useText();
  const facts = { [orders.accuracy]: accuracyText(order.accuracy), [orders.total]: useTotal(order) };
  return Object.entries(facts).map(
    ([label, value]) =>
      value !== '' && (
        <Text key={label} size="sm">
          {label} <b>{value}</b>
        </Text>
      ),
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
  /** The date itself stands in a field. */
  readonly isBeside?: boolean;
};

/** With how many days are left; in red where somebody is late with it. */
export function DeliveryDate({ date, of, isBeside = false }: DeliveryDateProps) {
  const { language } = useLanguage();
  const today = new Date();
  const days = Math.round(
    (Date.parse(`${date}T00:00:00.000Z`) - Date.UTC(today.getFullYear(), today.getMonth(), today.getDate())) / DAY_MS,
  );
  if (Number.isNaN(days)) return isBeside ? null : date;
  const isToDo = STILL_TO_DO.includes(of.processing_status);
  const left = new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(days, 'day').replaceAll(' ', '\u00a0');
  const Tag = isBeside ? 'small' : 'span';
  return (
    <Tag className={isToDo && days < 0 ? 'late' : ''}>
      {!isBeside && <When at={date} />}
      {isToDo && `${isBeside ? '' : ' · '}${left}`}
    </Tag>
  );
}

/** Of the lines, with the currency; empty where one has no price. */
function useTotal(order: Order): string {
  const { language } = useLanguage();
  const lines: readonly AnyRecord[] = Array.isArray(order.lines) ? order.lines : [];
  const prices = lines.map(({ quantity, unit_price: price }) =>
    typeof price === 'number' ? Number(quantity) * price : Number.NaN,
  );
  const total = prices.reduce((sum, price) => sum + price, 0);
  if (prices.length === 0 || Number.isNaN(total)) return '';
  const { currency_code: currency } = order as { readonly currency_code?: string | null };
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `${currency ?? ''} ${new Intl.NumberFormat(language, digits).format(total)}`.trim();
}

const COLOURS = {
  pending_validation: 'gray',
  saved: 'gray',
  validated: 'blue',
  rejected: 'gray',
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
  if (names.length === 0) return null;
  return (
    <Badge color="orange">
      {orders.openBy} <Names>{names}</Names>
    </Badge>
  );
}
