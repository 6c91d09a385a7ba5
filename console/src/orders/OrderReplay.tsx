/** The whole story of an order for an auditor: each step with its problems, what was sent because of it, and the answers. */
import { Alert, Anchor, Group, Text, Timeline } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { api, bodyOf, type Schemas } from '../api/client';
import { useNumber, useText, When } from '../app/language';
import { Listed, Page } from '../app/Page';
import { usePages } from '../app/usePages';
import { DeliveryStateBadge } from '../webhooks/SuccessByHour';
import { nameOf } from './LookUp';
import { Entry, namesOfParts } from './OrderHistory';
import { orderQuery } from './OrderPage';
import { useProblemText } from './Problems';

type Step = Schemas['ReplayStep'];

export function OrderReplay() {
  const { orderId } = getRouteApi('/orders/$orderId/replay').useParams();
  const text = useText();
  const say = useProblemText();
  const { order } = useQuery(orderQuery(orderId)).data ?? {};
  const names = namesOfParts(order ?? {});
  const replay = usePages(['orders', 'replay', orderId], (cursor) => {
    const params = { path: { order_id: orderId }, query: { cursor } as object };
    return bodyOf(api.GET('/api/v1/platform/orders/{order_id}/replay', { params }));
  });
  return (
    <Page
      title={order === undefined ? text.orders.replay : [nameOf(order), text.orders.replay]}
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
      <Listed list={replay} none={text.orders.noHistory}>
        {(steps) => (
          <Timeline bulletSize={14} lineWidth={2} active={Number.MAX_SAFE_INTEGER}>
            {steps.map((step) => (
              <Entry key={step.id} entry={step} orderId={orderId} names={names}>
                {step.problems.length > 0 && (
                  <Alert color="orange" p="xs" title={text.orders.problems}>
                    {step.problems.map((problem) => (
                      <Text key={problem.field} size="sm">
                        {say(problem)}
                      </Text>
                    ))}
                  </Alert>
                )}
                {step.deliveries.map((delivery) => (
                  <Delivery key={delivery.id} delivery={delivery} />
                ))}
              </Entry>
            ))}
          </Timeline>
        )}
      </Listed>
    </Page>
  );
}

function Delivery({ delivery }: { readonly delivery: Step['deliveries'][number] }) {
  const number = useNumber();
  const webhook = { webhookId: delivery.webhook_id, deliveryId: delivery.id };
  return (
    <>
      <Group gap="xs">
        <DeliveryStateBadge state={delivery.state} /> {delivery.kind}
        {delivery.webhook_name !== null && (
          <Link to="/webhooks/$webhookId/deliveries/$deliveryId" params={webhook}>
            <bdi>{delivery.webhook_name || delivery.id}</bdi>
          </Link>
        )}
      </Group>
      {delivery.attempts.map((attempt) => (
        <Text key={attempt.attempt} size="sm" className="text">
          {attempt.attempt}. <When at={attempt.started_at} long /> · {attempt.status ?? attempt.reason}
          {attempt.duration_ms !== null && ` · ${number(attempt.duration_ms)} ms`}
          {`\nSHA-256 ${attempt.body_sha256}`}
          {attempt.response_body && `\n${attempt.response_body}`}
        </Text>
      ))}
    </>
  );
}
