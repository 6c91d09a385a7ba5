/** How deliveries of the last day ended, hour by hour. */
import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, bodyOf, type Schemas } from '../api/client';
import { cursorOf } from '../app/cursor';
import { useLanguage, useNumber } from '../app/language';

type Delivery = Schemas['Delivery'];

const HOURS = 24;
const HOUR_MS = 3_600_000;
const READ_EACH_MS = 10_000;
/** Deliveries that are looked at, and those on a page of the log. */
const MAX_DELIVERIES = 500;
const PAGE_SIZE = 100;

async function lastDay(webhookId: string, signal: AbortSignal): Promise<readonly Delivery[]> {
  const since = new Date(Date.now() - HOURS * HOUR_MS).toISOString();
  const deliveries: Delivery[] = [];
  let cursor: string | undefined;
  do {
    const params = { path: { webhook_id: webhookId }, query: { since, limit: PAGE_SIZE, cursor } as object };
    const { data, links } = await bodyOf(
      api.GET('/api/v1/platform/webhooks/{webhook_id}/deliveries', { params, signal }),
    );
    deliveries.push(...data);
    cursor = cursorOf(links.next);
  } while (cursor !== undefined && deliveries.length < MAX_DELIVERIES);
  return deliveries;
}

const STATES = ['succeeded', 'failed', 'open'] as const;
const COLORS = { succeeded: 'green', failed: 'red', open: 'gray' } as const;
const [WIDTH, HEIGHT, BAR] = [288, 48, 10];

export function SuccessByHour({ webhookId }: { readonly webhookId: string }) {
  const { text, language } = useLanguage();
  const number = useNumber();
  const { data: deliveries = [] } = useQuery({
    queryKey: ['deliveries', webhookId, 'day'],
    queryFn: ({ signal }) => lastDay(webhookId, signal),
    refetchInterval: READ_EACH_MS,
  });
  const count = (some: readonly Delivery[], state: Delivery['state']) =>
    some.filter((each) => each.state === state).length;
  const ended = deliveries.length - count(deliveries, 'open');
  if (deliveries.length === 0) return null;
  const thisHour = Math.floor(Date.now() / HOUR_MS);
  const hours = Array.from({ length: HOURS }, (_, n) => {
    const hour = thisHour - HOURS + 1 + n;
    const own = deliveries.filter(({ requested_at }) => Math.floor(Date.parse(requested_at) / HOUR_MS) === hour);
    return { at: new Date(hour * HOUR_MS), own };
  });
  const most = Math.max(1, ...hours.map(({ own }) => own.length));
  const percent = ended === 0 ? undefined : Math.round((100 * count(deliveries, 'succeeded')) / ended);
  const summary = text.webhooks.ofLastDay(number(deliveries.length), percent);
  return (
    <Group gap="sm" align="flex-end">
      <svg width={WIDTH} height={HEIGHT} role="img" aria-label={summary}>
        {hours.map(({ at, own }, n) => {
          const time = at.toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit' });
          let top = HEIGHT;
          return (
            <g key={at.getTime()}>
              <title>{`${time}: ${STATES.map((state) => `${text.webhooks.state[state]} ${count(own, state)}`).join(', ')}`}</title>
              {/* An hour without any has a line, and something to point at. */}
              <rect x={n * (WIDTH / HOURS)} width={BAR} y={0} height={HEIGHT} fill="transparent" />
              <rect x={n * (WIDTH / HOURS)} width={BAR} y={HEIGHT - 1} height={1} fill="var(--mantine-color-gray-5)" />
              {STATES.map((state) => {
                const height = (count(own, state) / most) * HEIGHT;
                top -= height;
                const fill = `var(--mantine-color-${COLORS[state]}-filled)`;
                return <rect key={state} x={n * (WIDTH / HOURS)} width={BAR} y={top} height={height} fill={fill} />;
              })}
            </g>
          );
        })}
      </svg>
      <Stack gap={0}>
        <Text size="sm">{summary}</Text>
        {deliveries.length >= MAX_DELIVERIES && <Text size="sm">{text.webhooks.notAll}</Text>}
      </Stack>
    </Group>
  );
}
