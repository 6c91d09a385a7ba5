/** One delivery: each attempt with what was sent, and what the receiver answered. */
import { Alert, Code, Group, Paper, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf, reasonInWords, type Schemas } from '../api/client';
import { useRoles, webhooksQuery } from '../api/queries';
import { Act } from '../app/Dialogs';
import { useNumber, useText, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import { OrderLink } from '../orders/FieldInput';
import { DeliveryStateBadge, outcomeOf } from './SuccessByHour';
import { READ_EACH_MS } from './WebhookPage';

export function DeliveryPage() {
  const { webhookId, deliveryId } = getRouteApi('/webhooks/$webhookId/deliveries/$deliveryId').useParams();
  const text = useText();
  const navigate = useNavigate();
  const { isAdmin } = useRoles();
  const webhook = useQuery(webhooksQuery).data?.find(({ id }) => id === webhookId);
  const path = { webhook_id: webhookId, delivery_id: deliveryId };
  const delivery = useQuery({
    queryKey: ['deliveries', webhookId, 'one', deliveryId],
    queryFn: () =>
      dataOf(api.GET('/api/v1/platform/webhooks/{webhook_id}/deliveries/{delivery_id}', { params: { path } })),
    refetchInterval: ({ state }) => (state.data?.state === 'open' ? READ_EACH_MS : false),
  });
  const resend = async () => {
    const { delivery_id: id } = await dataOf(
      api.POST('/api/v1/platform/webhooks/{webhook_id}/deliveries/{delivery_id}/resend', { params: { path } }),
    );
    notifications.show({ message: text.webhooks.onItsWay });
    await navigate({ to: '/webhooks/$webhookId/deliveries/$deliveryId', params: { webhookId, deliveryId: id } });
  };
  return (
    <Loaded query={delivery}>
      {(of) => (
        <Page
          title={of.kind}
          actions={isAdmin && <Act label={text.webhooks.resend} disabled={of.state === 'open'} act={resend} />}
        >
          <Group gap="xs" fz="sm">
            <DeliveryStateBadge state={of.state} />
            <When at={of.requested_at} />
            <Link to="/webhooks/$webhookId" params={{ webhookId }}>
              {webhook?.name || webhook?.url || '…'}
            </Link>
            {of.order_id !== null && <OrderLink id={of.order_id} />}
            {of.reason !== null && <span className="text">{reasonInWords(of.reason)}</span>}
            {of.retry_at !== null && `${text.webhooks.nextAttempt}:`}
            <When at={of.retry_at} />
          </Group>
          {of.attempts.toReversed().map((attempt) => (
            <Attempt key={attempt.attempt} path={path} attempt={attempt} />
          ))}
        </Page>
      )}
    </Loaded>
  );
}

type AttemptProps = {
  readonly path: { readonly webhook_id: string; readonly delivery_id: string };
  readonly attempt: Schemas['DeliveryAttempt'];
};

function Attempt({ path, attempt }: AttemptProps) {
  const text = useText().webhooks;
  const number = useNumber();
  const answerHeaders = `${text.answer}: ${text.headers.toLowerCase()}`;
  const [isBodyShown, setBodyShown] = useState(false);
  const body = useQuery({
    queryKey: ['deliveries', path.webhook_id, 'body', path.delivery_id],
    enabled: isBodyShown,
    queryFn: () =>
      dataOf(api.GET('/api/v1/platform/webhooks/{webhook_id}/deliveries/{delivery_id}/body', { params: { path } })),
  });
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Group justify="space-between">
          <Text fw={600}>
            {attempt.attempt}. {outcomeOf(attempt)}
          </Text>
          <Text size="sm">
            <When at={attempt.started_at} long />
            {attempt.duration_ms !== null && ` · ${number(attempt.duration_ms)} ms`}
          </Text>
        </Group>
        <Text size="sm" className="mono text">
          POST {attempt.url}
        </Text>
        <details onToggle={({ currentTarget }) => setBodyShown(currentTarget.open)}>
          <summary>{text.body}</summary>
          {isBodyShown && (
            <Loaded query={body}>
              {({ headers, body: sent, sha256 }) => (
                <Stack gap="xs" pt="xs">
                  <Facts label={text.headers} facts={Object.entries(headers).map(([name, of]) => [name, String(of)])} />
                  <Alert color={sha256 === attempt.body_sha256 ? 'green' : 'yellow'} p="xs">
                    {sha256 === attempt.body_sha256 ? text.proved : text.notProved}{' '}
                    <span className="mono">SHA-256 {attempt.body_sha256}</span>
                  </Alert>
                  <Code block className="text">
                    {readable(sent)}
                  </Code>
                </Stack>
              )}
            </Loaded>
          )}
        </details>
        {attempt.response_headers !== null && (
          <details>
            <summary>{answerHeaders}</summary>
            <Facts label={answerHeaders} facts={Object.entries(attempt.response_headers)} />
          </details>
        )}
        {attempt.response_body !== null && attempt.response_body !== '' && (
          <Code block className="text">
            {readable(attempt.response_body)}
          </Code>
        )}
      </Stack>
    </Paper>
  );
}

/** JSON with line breaks; other text as it is. */
function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
