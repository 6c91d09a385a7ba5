/** How deliveries of the last day ended and how long they took: at a glance, and hour by hour. */
import { Badge, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, bodyOf, type Schemas } from '../api/client';
import { cursorOf } from '../app/cursor';
import { useLanguage, useNumber, useText } from '../app/language';

type Delivery = Schemas['Delivery'];

const HOURS = 24;
const HOUR_MS = 3_600_000;
const READ_EACH_MS = 15_000;
/** Deliveries that are looked at, and those on a page of the log. */
export const MAX_DELIVERIES = 500;
const PAGE_SIZE = 100;

/** The latest of them, at most MAX_DELIVERIES. */
export async function deliveriesSince(
  webhookId: string,
  asked: { readonly since: string; readonly state?: Delivery['state'] },
  signal: AbortSignal,
): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = [];
  let cursor: string | undefined;
  do {
    const params = { path: { webhook_id: webhookId }, query: { ...asked, limit: PAGE_SIZE, cursor } as object };
    const { data, links } = await bodyOf(
      api.GET('/api/v1/platform/webhooks/{webhook_id}/deliveries', { params, signal }),
    );
    deliveries.push(...data);
    cursor = cursorOf(links.next);
  } while (cursor !== undefined && deliveries.length < MAX_DELIVERIES);
  return deliveries;
}

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
  return (
    <Badge variant="light" color={failed === 0 ? 'green' : failed === ended ? 'red' : 'orange'} tt="none">
      {failed === 0 ? text.allDelivered(ended) : text.failedOf(failed, ended)}
    </Badge>
  );
}

const STATES = ['succeeded', 'failed', 'open'] as const;
const COLORS = { succeeded: 'green', failed: 'red', open: 'gray' } as const;
const [STEP, BAR, HEIGHT] = [30, 22, 80];
const WIDTH = HOURS * STEP;

export function SuccessByHour({ webhookId }: { readonly webhookId: string }) {
  const { text, language } = useLanguage();
  const number = useNumber();
  const deliveries = useLastDay(webhookId) ?? [];
  if (deliveries.length === 0) return null;
  const thisHour = Math.floor(Date.now() / HOUR_MS);
  const hours = Array.from({ length: HOURS }, (_, n) => {
    const hour = thisHour - HOURS + 1 + n;
    const own = deliveries.filter(({ requested_at }) => Math.floor(Date.parse(requested_at) / HOUR_MS) === hour);
    const time = new Date(hour * HOUR_MS).toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit' });
    return { time, own, x: n * STEP, slow: p95(own) };
  });
  const most = Math.max(1, ...hours.map(({ own }) => own.length));
  const slowest = Math.max(1, ...hours.map(({ slow = 0 }) => slow));
  const ended = deliveries.length - count(deliveries, 'open');
  const percent = ended === 0 ? undefined : Math.round((100 * count(deliveries, 'succeeded')) / ended);
  const summary = text.webhooks.ofLastDay(number(deliveries.length), percent);
  const slow = p95(deliveries);
  const points = hours.flatMap(({ x, slow: ms }) =>
    ms === undefined ? [] : [[x + BAR / 2, HEIGHT - (ms / slowest) * (HEIGHT - 8)] as const],
  );
  return (
    <Stack gap={4}>
      <Text size="sm">
        {summary}
        {slow !== undefined && ` · ${text.webhooks.p95(number(slow))}`}
        {deliveries.length >= MAX_DELIVERIES && ` ${text.webhooks.notAll}`}
      </Text>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + 16}`} role="img" aria-label={summary} style={{ maxWidth: WIDTH }}>
        {hours.map(({ time, own, x, slow: ms }, n) => {
          let top = HEIGHT;
          const states = STATES.map((state) => `${text.webhooks.state[state]} ${count(own, state)}`);
          return (
            <g key={time}>
              <title>
                {[`${time}: ${states.join(', ')}`, ...(ms === undefined ? [] : [`${number(ms)} ms`])].join(', ')}
              </title>
              {/* An hour without any has a line, and something to point at. */}
              <rect x={x} width={STEP} y={0} height={HEIGHT} fill="transparent" />
              <rect x={x} width={BAR} y={HEIGHT - 1} height={1} fill="var(--mantine-color-gray-5)" />
              {STATES.map((state) => {
                const height = (count(own, state) / most) * HEIGHT;
                top -= height;
                const fill = `var(--mantine-color-${COLORS[state]}-filled)`;
                return <rect key={state} x={x} width={BAR} y={top} height={height} fill={fill} rx={2} />;
              })}
              {n % 6 === 0 && (
                <text x={x} y={HEIGHT + 13} fontSize={11} fill="var(--mantine-color-dimmed)">
                  {time}
                </text>
              )}
            </g>
          );
        })}
        <polyline points={points.join(' ')} fill="none" stroke="var(--mantine-color-text)" strokeWidth={1.5} />
        {points.map(([x, y]) => (
          <circle key={x} cx={x} cy={y} r={2.5} fill="var(--mantine-color-text)" />
        ))}
      </svg>
    </Stack>
  );
}
