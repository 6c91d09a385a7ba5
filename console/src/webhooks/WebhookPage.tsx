/** One webhook: its state, its secret, and its deliveries as they come. */
import { Group, Paper, Select, type SelectProps, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, bodyOf, dataOf } from '../api/client';
import { usePages, useRoles } from '../api/queries';
import { Act, Confirm, InputsDialog, Opens, useSecretOnce } from '../app/Dialogs';
import { useNumber, useText, When } from '../app/language';
import { Listed, Loaded, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { OrderField, OrderLink } from '../orders/FieldInput';
import { DeliveryStateBadge, deliveriesSince, MAX_DELIVERIES, outcomeOf, SuccessByHour } from './SuccessByHour';
import { EVENTS, type Webhook, WebhookForm, WebhookState } from './Webhooks';

export const READ_EACH_MS = 5_000;
const DAY_MS = 86_400_000;

export function WebhookPage() {
  const { webhookId } = getRouteApi('/webhooks/$webhookId').useParams();
  const webhook = useQuery({
    queryKey: ['webhooks', webhookId],
    queryFn: () =>
      dataOf(api.GET('/api/v1/platform/webhooks/{webhook_id}', { params: { path: { webhook_id: webhookId } } })),
    refetchInterval: READ_EACH_MS,
  });
  return <Loaded query={webhook}>{(of) => <OneWebhook webhook={of} />}</Loaded>;
}

function OneWebhook({ webhook }: { readonly webhook: Webhook }) {
  const text = useText();
  const navigate = useNavigate();
  const { isAdmin } = useRoles();
  const [dialog, show] = useSecretOnce(text.webhooks.secret);
  const onSecret = ({ secret }: { readonly secret: string }) => show([[text.webhooks.secret, secret]]);
  const leave = () => navigate({ to: '/webhooks' });
  const path = { params: { path: { webhook_id: webhook.id } } };
  const name = webhook.name || webhook.url;
  const switchTo = (enabled: boolean) => () =>
    bodyOf(api.PUT('/api/v1/platform/webhooks/{webhook_id}', { ...path, body: { enabled } }));
  return (
    <Page
      title={name}
      actions={
        isAdmin && (
          <Opens label={text.common.edit}>
            {(close) => <WebhookForm webhook={webhook} onClose={close} onAdded={show} />}
          </Opens>
        )
      }
    >
      <Paper withBorder p="sm">
        <Stack gap="xs">
          <WebhookState webhook={webhook} />
          <Text className="text mono">{webhook.url}</Text>
          <Text size="sm">{webhook.events.join(', ')}</Text>
          {isAdmin && (
            <Group gap="xs">
              {webhook.enabled ? (
                <Confirm label={text.webhooks.disable} of={name} why={text.webhooks.disableWhy} act={switchTo(false)} />
              ) : (
                <Act label={text.webhooks.enable} act={switchTo(true)} />
              )}
              <Confirm
                label={text.webhooks.rotate}
                of={name}
                why={text.webhooks.rotateWhy}
                color="indigo"
                act={() =>
                  dataOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/secret/rotate', path)).then(onSecret)
                }
              />
              <Opens label={text.webhooks.test} disabled={!webhook.enabled}>
                {(close) => <TestDialog webhook={webhook} onClose={close} />}
              </Opens>
              <Confirm
                label={text.common.remove}
                of={name}
                why={text.webhooks.removeWhy}
                act={() => bodyOf(api.DELETE('/api/v1/platform/webhooks/{webhook_id}', path)).then(leave)}
              />
            </Group>
          )}
        </Stack>
      </Paper>
      <Deliveries webhook={webhook} />
      {dialog}
    </Page>
  );
}

function TestDialog({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }) {
  const text = useText().webhooks;
  const send = async (body: { event: Webhook['events'][number] }) => {
    const params = { path: { webhook_id: webhook.id } };
    await bodyOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/test', { params, body }));
    notifications.show({ message: text.onItsWay });
  };
  return (
    <InputsDialog
      title={text.test}
      label={text.test}
      inputs={[{ name: 'event', label: text.event, choices: EVENTS }]}
      values={{ event: webhook.events[0] ?? 'order.approved' }}
      send={send}
      onClose={onClose}
    />
  );
}

type BackfillProps = { readonly webhook: Webhook; readonly isFailed: boolean; readonly onClose: () => void };

/** Sends events since a time, or those among them whose delivery failed: their number first. */
function BackfillDialog({ webhook, isFailed, onClose }: BackfillProps) {
  const text = useText().webhooks;
  const values = { from: new Date(Date.now() - DAY_MS).toISOString(), events: webhook.events, failed_only: isFailed };
  const send = async (body: typeof values) => {
    const params = { path: { webhook_id: webhook.id } };
    await bodyOf(api.POST('/api/v1/platform/webhooks/{webhook_id}/backfill', { params, body }));
    notifications.show({ message: text.onItsWay });
  };
  return (
    <InputsDialog
      title={text.backfill}
      label={text.backfill}
      inputs={[
        { name: 'from', label: text.backfillFrom, required: true, isMoment: true },
        { name: 'events', label: text.events, choices: webhook.events },
        { name: 'failed_only', label: text.failedOnly },
      ]}
      values={values}
      send={send}
      onClose={onClose}
    >
      {(backfill) => <Found webhookId={webhook.id} backfill={backfill} />}
    </InputsDialog>
  );
}

type Backfill = { readonly from: string; readonly events: Webhook['events']; readonly failed_only: boolean };
/** How many deliveries there are since then. */
function Found({ webhookId, backfill }: { readonly webhookId: string; readonly backfill: Backfill }) {
  const { from, events, failed_only: failedOnly } = backfill;
  const text = useText().webhooks;
  const number = useNumber();
  const found = useQuery({
    queryKey: ['deliveries', webhookId, 'since', from, failedOnly],
    enabled: from !== '',
    queryFn: ({ signal }) =>
      deliveriesSince(webhookId, { since: from, ...(failedOnly ? { state: 'failed' } : {}) }, signal),
  });
  const count = found.data?.filter(({ kind }) => events.includes(kind)).length;
  return count === undefined ? null : (
    <Text role="status" size="sm" fw={600}>
      {(failedOnly ? text.foundFailed : text.found)(`${number(count)}${count >= MAX_DELIVERIES ? '+' : ''}`)}
    </Text>
  );
}

type Filters = { readonly [name in 'state' | 'event' | 'order_id']?: string | undefined };

function Deliveries({ webhook }: { readonly webhook: Webhook }) {
  const { webhooks: text, common, orders, activity } = useText();
  const number = useNumber();
  const { isAdmin } = useRoles();
  const [filters, setFilters] = useState<Filters>({});
  const set = (name: keyof Filters) => (value: string | null) => setFilters({ ...filters, [name]: value ?? undefined });
  const list = usePages(
    ['deliveries', webhook.id, filters],
    (cursor) => {
      const params = { path: { webhook_id: webhook.id }, query: { ...filters, cursor } as object };
      return bodyOf(api.GET('/api/v1/platform/webhooks/{webhook_id}/deliveries', { params }));
    },
    { refetchInterval: READ_EACH_MS },
  );
  const choice = (name: 'state' | 'event', label: string, data: SelectProps['data'] = []) => (
    <Select
      label={label}
      placeholder={common.all}
      clearable
      data={data}
      value={filters[name] ?? null}
      onChange={set(name)}
    />
  );
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  return (
    <Stack>
      <SuccessByHour webhookId={webhook.id} />
      <Group align="flex-end">
        {choice(
          'state',
          common.status,
          Object.entries(text.state).map(([value, label]) => ({ value, label })),
        )}
        {choice('event', text.event, EVENTS)}
        <OrderField label={orders.one} value={filters.order_id} onChange={set('order_id')} />
        {isAdmin && (
          <Opens label={text.backfill} size="sm">
            {(close) => <BackfillDialog webhook={webhook} isFailed={filters.state === 'failed'} onClose={close} />}
          </Opens>
        )}
      </Group>
      <Listed list={list} none={isFiltered ? common.noMatch : text.noDeliveries}>
        {(deliveries) => (
          <Rows
            label={text.deliveries}
            heads={[
              activity.when,
              text.event,
              orders.one,
              common.status,
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
                    params={{ webhookId: webhook.id, deliveryId: delivery.id }}
                  >
                    <When at={delivery.requested_at} />
                  </Link>,
                  delivery.kind,
                  delivery.order_id !== null && <OrderLink key="order" id={delivery.order_id} />,
                  <DeliveryStateBadge key="state" state={delivery.state} />,
                  delivery.attempts.length,
                  last?.duration_ms == null ? '' : `${number(last.duration_ms)} ms`,
                  outcomeOf(last ?? { status: null, reason: delivery.reason }),
                ],
              };
            })}
          />
        )}
      </Listed>
    </Stack>
  );
}
