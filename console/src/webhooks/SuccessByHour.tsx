/** How deliveries of the last day ended and how long they took: at a glance, and hour by hour. */
import { Badge, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, bodyOf, reasonInWords, type Schemas } from '../api/client';
import { readAll } from '../api/queries';
import { Chart } from '../app/Chart';
import { useNumber, useText } from '../app/language';

type Delivery = Schemas['Delivery'];

const HOURS = 24;
const HOUR_MS = 3_600_000;
const READ_EACH_MS = 15_000;
/** Deliveries that are looked at, and those on a page of the log. */
export const MAX_DELIVERIES = 500;
const PAGE_SIZE = 100;

/** The latest of them, at most MAX_DELIVERIES. */
export const deliveriesSince = (
  webhookId: string,
  asked: { readonly since: string; readonly state?: Delivery['state'] },
  signal: AbortSignal,
): Promise<readonly Delivery[]> =>
  readAll((cursor) => {
    const params = { path: { webhook_id: webhookId }, query: { ...asked, limit: PAGE_SIZE, cursor } as object };
    return bodyOf(api.GET('/api/v1/platform/webhooks/{webhook_id}/deliveries', { params, signal }));
  }, MAX_DELIVERIES);

const useLastDay = (webhookId: string): readonly Delivery[] | undefined =>
  useQuery({
    queryKey: ['deliveries', webhookId, 'day'],
    queryFn: ({ signal }) =>
      deliveriesSince(webhookId, { since: new Date(Date.now() - HOURS * HOUR_MS).toISOString() }, signal),
    refetchInterval: READ_EACH_MS,
  }).data;

const count = (some: readonly Delivery[], state: Delivery['state']): number =>
  some.filter((each) => each.state === state).length;

/** Of the answers' times 95 % are no longer; undefined without one. */
function p95(some: readonly Delivery[]): number | undefined {
  const times = some.flatMap(({ attempts }) => attempts.at(-1)?.duration_ms ?? []).sort((a, b) => a - b);
  return times[Math.ceil(times.length * 0.95) - 1];
}

/** Red if all failed, so that a list says at a glance which webhook needs somebody. */
export function Health({ webhookId }: { readonly webhookId: string }) {
  const { webhooks: text, common } = useText();
  const day = useLastDay(webhookId);
  if (day === undefined) return null;
  const failed = count(day, 'failed');
  const ended = failed + count(day, 'succeeded');
  if (ended === 0) return <Text size="sm">{common.none}</Text>;
  const orMore = day.length < MAX_DELIVERIES ? '' : '+';
  return (
    <Badge color={failed === 0 ? 'green' : failed === ended ? 'red' : 'orange'}>
      {failed === 0 ? text.allDelivered(ended + orMore) : text.failedOf(failed + orMore, ended + orMore)}
    </Badge>
  );
}

export function SuccessByHour({ webhookId }: { readonly webhookId: string }) {
  const text = useText().webhooks;
  const number = useNumber();
  const deliveries = useLastDay(webhookId) ?? [];
  if (deliveries.length === 0) return null;
  const oldest = deliveries.length < MAX_DELIVERIES ? 0 : Date.parse(deliveries.at(-1)?.requested_at ?? '');
  const thisHour = Math.floor(Date.now() / HOUR_MS);
  const hours = Array.from({ length: HOURS }, (_, n) => {
    const hour = thisHour - HOURS + 1 + n;
    const own = deliveries.filter(({ requested_at }) => Math.floor(Date.parse(requested_at) / HOUR_MS) === hour);
    return { at: new Date(hour * HOUR_MS).toISOString(), own, isKnown: (hour + 1) * HOUR_MS > oldest };
  });
  const ended = deliveries.length - count(deliveries, 'open');
  const percent = ended === 0 ? undefined : Math.round((100 * count(deliveries, 'succeeded')) / ended);
  const orMore = deliveries.length < MAX_DELIVERIES ? '' : '+';
  const summary = `${text.ofLastDay(number(deliveries.length) + orMore, percent)}. ${text.p95(number(p95(deliveries)) || '–')}.`;
  const line = (state: 'succeeded' | 'failed', color: string) => ({
    label: text.state[state],
    color,
    values: hours.map(({ own, isKnown }) => (isKnown ? count(own, state) : null)),
  });
  const milliseconds = (ms: number) => `${number(ms)} ms`;
  const slow = { label: 'p95', color: 'indigo', show: milliseconds, values: hours.map(({ own }) => p95(own) ?? null) };
  return (
    <Chart
      label={summary}
      times={hours.map(({ at }) => at)}
      show={number}
      lines={[line('succeeded', 'green'), line('failed', 'red'), slow]}
    />
  );
}

/** Of an attempt: what the receiver answered, or why it did not. */
export const outcomeOf = ({ status, reason }: Pick<Schemas['DeliveryAttempt'], 'status' | 'reason'>): string =>
  reason === null ? (status === null ? '…' : `HTTP ${status}`) : reasonInWords(reason);

const COLOURS = { open: 'gray', succeeded: 'green', failed: 'red' } as const;

export function DeliveryStateBadge({ state }: { readonly state: Delivery['state'] }) {
  return <Badge color={COLOURS[state]}>{useText().webhooks.state[state]}</Badge>;
}
