/** One webhook: its state, its secret, and its deliveries as they come. */
import { Button, Checkbox, Group, MultiSelect, Paper, Select, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { Act, Asked, FormDialog, SecretOnce } from '../app/Dialogs';
import { useNumber, useText, When } from '../app/language';
import { MomentInput } from '../app/MomentInput';
import { Empty, Loaded, More, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { usePages } from '../app/usePages';
import { useRoles } from '../app/useRoles';
import { DeliveryStateBadge } from './DeliveryStateBadge';
import { SuccessByHour } from './SuccessByHour';
import { type Webhook, WebhookForm, WebhookState } from './Webhooks';

type Delivery = Schemas['Delivery'];
type EventKind = Webhook['events'][number];

const READ_EACH_MS = 5_000;

export function WebhookPage() {
  const { webhookId } = getRouteApi('/webhooks/$webhookId').useParams();
  const webhook = useQuery({
    queryKey: ['webhooks', webhookId],
    queryFn: async () =>
      (await bodyOf(api.GET('/api/v1/platform/webhooks/{webhook_id}', { params: { path: { webhook_id: webhookId } } })))
        .data,
    refetchInterval: READ_EACH_MS,
  });
  return <Loaded query={webhook}>{(of) => <OneWebhook webhook={of} />}</Loaded>;
}

function OneWebhook({ webhook }: { readonly webhook: Webhook }) {
  const text = useText();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { isAdmin } = useRoles();
  const [isEditing, setEditing] = useState(false);
  const [secret, setSecret] = useState<string | undefined>();
  const path = { params: { path: { webhook_id: webhook.id } } };
  const refresh = () => client.invalidateQueries({ queryKey: ['webhooks'] });
  const then = (request: () => Promise<unknown>) => async () => {
    await request();
    await refresh();
  };
  const switchTo = (enabled: boolean) =>
    then(() => bodyOf(api.PUT('/api/v1/platform/webhooks/{webhook_id}', { ...path, body: { enabled } })));
  return (
    <Page
      title={webhook.name || webhook.url}
      actions={
        isAdmin && (
          <Button variant="default" size="xs" onClick={() => setEditing(true)}>
            {text.common.edit}
          </Button>
        )
      }
    >
      <Paper withBorder p="md">
        <Stack gap="xs">
          <WebhookState webhook={webhook} />
          <Text className="text mono">{webhook.url}</Text>
          <Text size="sm">{webhook.events.join(', ')}</Text>
          {isAdmin && (
            <Group gap="xs">
              {webhook.enabled ? (
                <Asked label={text.webhooks.disable} act={switchTo(false)} />
              ) : (
                <Act label={text.webhooks.enable} act={switchTo(true)} />
              )}
              <Asked
                label={text.webhooks.rotate}
                why={text.webhooks.rotateWhy}
                color="indigo"
                act={then(async () => {
                  const { data } = await bodyOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/secret/rotate', path));
                  setSecret(data.secret);
                })}
              />
              <SendTest webhook={webhook} />
              <Backfill webhook={webhook} />
              <Asked
                label={text.webhooks.remove}
                act={async () => {
                  await bodyOf(api.DELETE('/api/v1/platform/webhooks/{webhook_id}', path));
                  await refresh();
                  await navigate({ to: '/webhooks' });
                }}
              />
            </Group>
          )}
        </Stack>
      </Paper>
      <Deliveries webhook={webhook} />
      {isEditing && <WebhookForm webhook={webhook} onClose={() => setEditing(false)} />}
      {secret !== undefined && (
        <SecretOnce
          title={text.webhooks.secret}
          values={[[text.webhooks.secret, secret]]}
          onClose={() => setSecret(undefined)}
        >
          <Text size="sm">{text.webhooks.rotateWhy}</Text>
        </SecretOnce>
      )}
    </Page>
  );
}

function SendTest({ webhook }: { readonly webhook: Webhook }) {
  const text = useText();
  const client = useQueryClient();
  const [event] = webhook.events;
  return (
    <Act
      label={text.webhooks.test}
      isDisabled={!webhook.enabled || event === undefined}
      act={async () => {
        const params = { path: { webhook_id: webhook.id } };
        await bodyOf(
          api.POST('/api/v1/platform/webhooks/{webhook_id}/test', { params, body: { event: event as EventKind } }),
        );
        notifications.show({ message: text.webhooks.testSent });
        await client.invalidateQueries({ queryKey: ['deliveries', webhook.id] });
      }}
    />
  );
}

/** Sends events since a time, or those among them whose delivery failed. */
function Backfill({ webhook }: { readonly webhook: Webhook }) {
  const text = useText().webhooks;
  const [isOpen, setOpen] = useState(false);
  const [from, setFrom] = useState('');
  const [events, setEvents] = useState<readonly string[]>(webhook.events);
  const [failedOnly, setFailedOnly] = useState(false);
  const act = async () => {
    const params = { path: { webhook_id: webhook.id } };
    const body = { from, events: events as EventKind[], failed_only: failedOnly };
    await bodyOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/backfill', { params, body }));
    notifications.show({ message: text.backfillSent });
    setOpen(false);
  };
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        {text.backfill}
      </Button>
      {isOpen && (
        <FormDialog
          title={text.backfill}
          label={text.backfill}
          act={act}
          onClose={() => setOpen(false)}
          isReady={from !== ''}
        >
          {(errorOf) => (
            <>
              <MomentInput
                data-autofocus
                label={text.backfillFrom}
                required
                value={from}
                error={errorOf('from')}
                onChange={setFrom}
              />
              <MultiSelect label={text.events} data={webhook.events} value={[...events]} onChange={setEvents} />
              <Checkbox
                label={text.failedOnly}
                checked={failedOnly}
                onChange={({ currentTarget }) => setFailedOnly(currentTarget.checked)}
              />
            </>
          )}
        </FormDialog>
      )}
    </>
  );
}

function Deliveries({ webhook }: { readonly webhook: Webhook }) {
  const text = useText().webhooks;
  const common = useText().common;
  const [state, setState] = useState<Delivery['state'] | null>(null);
  const list = usePages(
    ['deliveries', webhook.id, state],
    async (cursor) =>
      bodyOf(
        api.GET('/api/v1/platform/webhooks/{webhook_id}/deliveries', {
          params: {
            path: { webhook_id: webhook.id },
            query: { state: state ?? undefined, cursor } as object,
          },
        }),
      ),
    READ_EACH_MS,
  );
  return (
    <Stack>
      <Group justify="space-between">
        <Select
          aria-label={common.status}
          placeholder={common.all}
          clearable
          data={(['open', 'succeeded', 'failed'] as const).map((each) => ({ value: each, label: text.state[each] }))}
          value={state}
          onChange={(next) => setState(next as Delivery['state'] | null)}
        />
        <SuccessByHour webhookId={webhook.id} />
      </Group>
      <Loaded query={list}>
        {({ pages }) => {
          const deliveries = pages.flatMap(({ data }) => data);
          if (deliveries.length === 0) return <Empty>{text.noDeliveries}</Empty>;
          return <DeliveryTable webhookId={webhook.id} deliveries={deliveries} />;
        }}
      </Loaded>
      <More list={list} />
    </Stack>
  );
}

function DeliveryTable({
  webhookId,
  deliveries,
}: {
  readonly webhookId: string;
  readonly deliveries: readonly Delivery[];
}) {
  const { webhooks: text, common } = useText();
  const number = useNumber();
  return (
    <Rows
      label={text.deliveries}
      minWidth={600}
      heads={[
        { label: text.requested },
        { label: text.event },
        { label: common.status },
        { label: text.attempts, isNumber: true },
        { label: text.duration, isNumber: true },
        { label: text.answer, isText: true },
      ]}
      rows={deliveries.map((delivery) => {
        const last = delivery.attempts.at(-1);
        return {
          id: delivery.id,
          cells: [
            <Link
              key="at"
              to="/webhooks/$webhookId/deliveries/$deliveryId"
              params={{ webhookId, deliveryId: delivery.id }}
            >
              <When at={delivery.requested_at} />
            </Link>,
            delivery.kind,
            <DeliveryStateBadge key="state" state={delivery.state} />,
            delivery.attempts.length,
            last?.duration_ms == null ? '' : `${number(last.duration_ms)} ms`,
            last?.status ?? delivery.reason,
          ],
        };
      })}
    />
  );
}
