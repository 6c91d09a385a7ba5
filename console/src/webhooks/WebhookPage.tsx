/** One webhook: its state, its secret, and its deliveries as they come. */
import { Badge, Button, Group, MultiSelect, Paper, Select, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
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

function OneWebhook({ webhook }: { readonly webhook: Schemas['WebhookWithHealth'] }) {
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
          {webhook.health !== null && <Health health={webhook.health} />}
          <Text className="text mono">{webhook.url}</Text>
          <Text size="sm">{webhook.events.join(', ')}</Text>
          {isAdmin && (
            <Group gap="xs">
              {webhook.enabled ? (
                <Asked
                  label={text.webhooks.disable}
                  act={then(() =>
                    bodyOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/disable', { ...path, body: {} })),
                  )}
                />
              ) : (
                <Act
                  label={text.webhooks.enable}
                  act={then(() => bodyOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/enable', path)))}
                />
              )}
              {webhook.rotating ? (
                <>
                  <Act
                    label={text.webhooks.promote}
                    act={then(() => bodyOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/secret/promote', path)))}
                  />
                  <Act
                    label={text.webhooks.unstage}
                    act={then(() => bodyOf(api.DELETE('/api/v1/platform/webhooks/{webhook_id}/secret/staged', path)))}
                  />
                </>
              ) : (
                <Asked
                  label={text.webhooks.rotate}
                  why={text.webhooks.rotateWhy}
                  color="indigo"
                  act={then(async () => {
                    const { data } = await bodyOf(
                      api.POST('/api/v1/platform/webhooks/{webhook_id}/secret/rotate', path),
                    );
                    setSecret(data.secret);
                  })}
                />
              )}
              <SendTest webhook={webhook} />
              <Backfill webhook={webhook} />
              <ResendFailed webhook={webhook} />
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

function Health({ health }: { readonly health: Schemas['WebhookHealth'] }) {
  const text = useText().webhooks;
  return (
    <Group gap="xs">
      {health.failing_since !== null && (
        <>
          <Badge color="red" variant="dot" tt="none">
            {text.failingSince} <When at={health.failing_since} />
          </Badge>
          <Text size="sm">{text.probesOnly}</Text>
        </>
      )}
      {health.last_success_at !== null && (
        <Text size="sm">
          {text.lastSuccess} <When at={health.last_success_at} />
        </Text>
      )}
    </Group>
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

type SinceProps = {
  readonly label: string;
  readonly sinceLabel: string;
  readonly act: (since: string) => Promise<unknown>;
  readonly children?: ReactNode;
  /** How many there are since then. */
  readonly count?: (since: string) => ReactNode;
};

/** A button that asks since when. */
function Since({ label, sinceLabel, act, count, children }: SinceProps) {
  const [isOpen, setOpen] = useState(false);
  const [since, setSince] = useState('');
  const close = () => setOpen(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        {label}
      </Button>
      {isOpen && (
        <FormDialog
          title={label}
          label={label}
          act={() => act(since).then(close)}
          onClose={close}
          isReady={since !== ''}
        >
          {(errorOf) => (
            <>
              <MomentInput
                data-autofocus
                label={sinceLabel}
                required
                value={since}
                error={errorOf('since')}
                onChange={setSince}
              />
              {since !== '' && count?.(since)}
              {children}
            </>
          )}
        </FormDialog>
      )}
    </>
  );
}

function Backfill({ webhook }: { readonly webhook: Webhook }) {
  const text = useText().webhooks;
  const [events, setEvents] = useState<readonly string[]>(webhook.events);
  return (
    <Since
      label={text.backfill}
      sinceLabel={text.backfillFrom}
      act={async (from) => {
        const params = { path: { webhook_id: webhook.id } };
        await bodyOf(
          api.POST('/api/v1/platform/webhooks/{webhook_id}/backfill', {
            params,
            body: { from, events: events as EventKind[] },
          }),
        );
        notifications.show({ message: text.backfillSent });
      }}
    >
      <MultiSelect label={text.events} data={webhook.events} value={[...events]} onChange={setEvents} />
    </Since>
  );
}

function ResendFailed({ webhook }: { readonly webhook: Webhook }) {
  const text = useText().webhooks;
  const client = useQueryClient();
  return (
    <Since
      label={text.resendFailed}
      sinceLabel={text.resendSince}
      count={(since) => <ResendCount webhook={webhook} since={since} />}
      act={async (since) => {
        const params = { path: { webhook_id: webhook.id } };
        const { data } = await bodyOf(
          api.POST('/api/v1/platform/webhooks/{webhook_id}/resend', { params, body: { since } }),
        );
        notifications.show({ message: text.resent(data.count) });
        await client.invalidateQueries({ queryKey: ['deliveries', webhook.id] });
      }}
    />
  );
}

/** How many a resend would send. */
function ResendCount({ webhook, since }: { readonly webhook: Webhook; readonly since: string }) {
  const text = useText().webhooks;
  const found = useQuery({
    queryKey: ['deliveries', webhook.id, 'resend', since],
    queryFn: () => {
      const params = { path: { webhook_id: webhook.id }, query: { dry_run: true } };
      return bodyOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/resend', { params, body: { since } }));
    },
    retry: false,
  });
  return found.data === undefined ? null : <Text size="sm">{text.wouldResend(found.data.data.count)}</Text>;
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
