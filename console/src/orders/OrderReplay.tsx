/** The whole story of an order for an auditor: each step with its problems, what was sent because of it, and the answers. */
import { Alert, Anchor, Badge, Code, Group, Stack, Text, Timeline } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { api, bodyOf, type Schemas } from '../api/client';
import { cursorOf } from '../app/cursor';
import { valueText } from '../app/DataTable';
import { useNumber, useText, When } from '../app/language';
import { Loaded, More, Page } from '../app/Page';
import { eventName } from './OrderHistory';

type Step = Schemas['ReplayStep'];

export function OrderReplay() {
  const { orderId } = getRouteApi('/orders/$orderId/replay').useParams();
  const text = useText();
  const replay = useInfiniteQuery({
    queryKey: ['orders', 'replay', orderId],
    queryFn: async ({ pageParam }) =>
      bodyOf(
        api.GET('/api/v1/platform/orders/{order_id}/replay', {
          params: { path: { order_id: orderId }, query: { cursor: pageParam } as object },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ links }) => cursorOf(links.next),
  });
  return (
    <Page
      title={text.orders.replay}
      actions={
        <>
          <Anchor href={`/api/v1/platform/orders/${orderId}/export`} download={`order-${orderId}.zip`}>
            {text.orders.export}
          </Anchor>
          <Link to="/orders/$orderId" params={{ orderId }}>
            {text.orders.one}
          </Link>
        </>
      }
    >
      <Loaded query={replay}>
        {({ pages }) => (
          <Timeline bulletSize={14} lineWidth={2} active={Number.MAX_SAFE_INTEGER}>
            {pages
              .flatMap(({ data }) => data)
              .map((step) => (
                <ReplayStep key={step.id} step={step} />
              ))}
          </Timeline>
        )}
      </Loaded>
      <More list={replay} />
    </Page>
  );
}

function ReplayStep({ step }: { readonly step: Step }) {
  const text = useText();
  const states: { readonly [status: string]: string } = text.status;
  const { status_from: from, status_to: to } = step;
  return (
    <Timeline.Item title={eventName(step.event)}>
      <Stack gap={4}>
        <Group gap="xs">
          <Text size="sm">
            <When at={step.occurred_at} long /> <bdi>{text.orders.whoChanged(step.actor.name ?? step.actor.id)}</bdi>
          </Text>
          {from !== to && (
            <Badge variant="dot" tt="none">
              {from === null ? '' : `${states[from] ?? from} → `}
              {states[to] ?? to}
            </Badge>
          )}
        </Group>
        {step.reasons.map((reason, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same reason may stand twice
          <Text key={at} size="sm" className="text">
            {reason}
          </Text>
        ))}
        {step.changes.map((change) => (
          <Text key={`${change.table} ${change.id} ${change.field}`} size="sm" className="text">
            <b>{change.field}</b>: <bdi>{valueText(change.from) || '–'}</bdi> → <bdi>{valueText(change.to) || '–'}</bdi>
          </Text>
        ))}
        {step.problems.length > 0 && (
          <Alert color="orange" p="xs" title={text.orders.problems}>
            {step.problems.map(({ field, message }) => (
              <Text key={field} size="sm">
                {message}
              </Text>
            ))}
          </Alert>
        )}
        {step.deliveries.map((delivery) => (
          <Delivery key={delivery.id} delivery={delivery} />
        ))}
      </Stack>
    </Timeline.Item>
  );
}

function Delivery({ delivery }: { readonly delivery: Step['deliveries'][number] }) {
  const text = useText().webhooks;
  const number = useNumber();
  return (
    <details>
      <summary>
        {delivery.kind}: {text.state[delivery.state]} ({number(delivery.attempts.length)})
      </summary>
      {delivery.attempts.map((attempt) => (
        <Stack key={attempt.attempt} gap={2} py={4}>
          <Text size="sm">
            {attempt.attempt}. <When at={attempt.started_at} long /> · {attempt.status ?? attempt.reason}
            {attempt.duration_ms !== null && ` · ${number(attempt.duration_ms)} ms`}
          </Text>
          <Text size="sm" className="mono text">
            SHA-256 {attempt.body_sha256}
          </Text>
          {attempt.response_body !== null && attempt.response_body !== '' && (
            <Code block className="text">
              {attempt.response_body}
            </Code>
          )}
        </Stack>
      ))}
    </details>
  );
}
