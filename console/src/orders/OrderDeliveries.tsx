/** Where an order was sent, for those who read the webhooks. */
import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, bodyOf } from '../api/client';
import { webhooksQuery } from '../api/queries';
import { useText, When } from '../app/language';
import { Empty, Loaded } from '../app/Page';
import { useRoles } from '../app/useRoles';
import { DeliveryStateBadge } from '../webhooks/DeliveryStateBadge';

const OF_EACH_WEBHOOK = 10;

export function OrderDeliveries({ orderId }: { readonly orderId: string }) {
  const text = useText();
  const { isReader } = useRoles();
  const webhooks = useQuery({ ...webhooksQuery, enabled: isReader });
  const read = useQuery({
    queryKey: ['deliveries', 'order', orderId, webhooks.data?.map(({ id }) => id)],
    enabled: webhooks.data !== undefined,
    queryFn: async () => {
      const lists = await Promise.all(
        (webhooks.data ?? []).map(async (webhook) => {
          const params = { path: { webhook_id: webhook.id }, query: { order_id: orderId, limit: OF_EACH_WEBHOOK } };
          const { data } = await bodyOf(api.GET('/api/v1/platform/webhooks/{webhook_id}/deliveries', { params }));
          return data.map((delivery) => ({ webhook, delivery }));
        }),
      );
      return lists.flat().sort((a, b) => (a.delivery.requested_at < b.delivery.requested_at ? 1 : -1));
    },
  });
  if (!isReader) return <Empty>{text.webhooks.noDeliveries}</Empty>;
  return (
    <Loaded query={read}>
      {(deliveries) =>
        deliveries.length === 0 ? (
          <Empty>{text.webhooks.noDeliveries}</Empty>
        ) : (
          <Stack gap="xs">
            {deliveries.map(({ webhook, delivery }) => (
              <div key={delivery.id}>
                <DeliveryStateBadge state={delivery.state} />{' '}
                <Link
                  to="/webhooks/$webhookId/deliveries/$deliveryId"
                  params={{ webhookId: webhook.id, deliveryId: delivery.id }}
                >
                  {delivery.kind}
                </Link>
                <Text size="sm" className="text">
                  <When at={delivery.requested_at} /> · <bdi>{webhook.name || webhook.url}</bdi>
                  {delivery.reason !== null && ` · ${delivery.reason}`}
                </Text>
              </div>
            ))}
          </Stack>
        )
      }
    </Loaded>
  );
}
