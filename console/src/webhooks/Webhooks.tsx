/** The webhooks of the tenant. */
import { Badge, Group, MultiSelect, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { webhooksQuery } from '../api/queries';
import { FormDialog, Opens, SecretOnce, TextField } from '../app/Dialogs';
import { useText } from '../app/language';
import { Empty, Loaded, Page } from '../app/Page';
import { Cut, Rows } from '../app/Rows';
import { useRoles } from '../app/useRoles';
import { Health } from './SuccessByHour';

export type Webhook = Schemas['Webhook'];

export const EVENTS: Webhook['events'] = [
  'order.created',
  'order.updated',
  'order.status_changed',
  'order.approved',
  'order.export_failed',
  'reference.batch_upserted',
  'reference.cleaned_up',
];

export function Webhooks() {
  const text = useText();
  const { isAdmin } = useRoles();
  const add = isAdmin && (
    <Opens label={text.webhooks.add} size="sm" variant="filled">
      {(close) => <WebhookForm onClose={close} />}
    </Opens>
  );
  return (
    <Page title={text.webhooks.title} actions={add}>
      <Loaded query={useQuery(webhooksQuery)}>
        {(webhooks) =>
          webhooks.length === 0 ? (
            <Empty action={add}>{text.webhooks.none}</Empty>
          ) : (
            <Rows
              label={text.webhooks.title}
              heads={[
                { label: text.common.name },
                { label: text.webhooks.events, isText: true },
                { label: text.webhooks.lastDay },
                { label: text.common.status },
              ]}
              rows={webhooks.map((webhook) => ({
                id: webhook.id,
                cells: [
                  <div key="name">
                    <Link to="/webhooks/$webhookId" params={{ webhookId: webhook.id }}>
                      <Cut>{webhook.name || webhook.id}</Cut>
                    </Link>
                    <Cut>{webhook.url}</Cut>
                  </div>,
                  webhook.events.join(', '),
                  <Health key="health" webhookId={webhook.id} />,
                  <WebhookState key="state" webhook={webhook} />,
                ],
              }))}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

export function WebhookState({ webhook }: { readonly webhook: Webhook }) {
  const text = useText().webhooks;
  return (
    <Group gap="xs">
      <Badge color={webhook.enabled ? 'green' : 'red'}>{webhook.enabled ? text.enabled : text.disabled}</Badge>
      {webhook.disabled !== null && (
        <Text size="sm" className="text">
          {webhook.disabled.reason}
        </Text>
      )}
    </Group>
  );
}

/** Adds a webhook, or changes the one that is given. */
export function WebhookForm({ webhook, onClose }: { readonly webhook?: Webhook; readonly onClose: () => void }) {
  const text = useText();
  const [name, setName] = useState(webhook?.name ?? '');
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState<Webhook['events']>(webhook?.events ?? ['order.approved']);
  const [customData, setCustomData] = useState(JSON.stringify(webhook?.custom_data ?? {}, null, 2));
  const [secret, setSecret] = useState<string | undefined>();
  const isObject = (() => {
    try {
      const parsed: unknown = JSON.parse(customData);
      return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    } catch {
      return false;
    }
  })();
  const save = async () => {
    // As it was typed: a number that JavaScript cannot hold would become another one, where the service refuses it.
    const text = `${JSON.stringify({ name, url, events }).slice(0, -1)},"custom_data":${customData}}`;
    const body = { name, url, events };
    const bodySerializer = () => text;
    const params = { path: { webhook_id: webhook?.id ?? '' } };
    const made =
      webhook === undefined
        ? (await bodyOf(api.POST('/api/v1/platform/webhooks', { body, bodySerializer }))).data.secret
        : void (await bodyOf(api.PUT('/api/v1/platform/webhooks/{webhook_id}', { params, body, bodySerializer })));
    if (made === undefined) onClose();
    else setSecret(made);
  };
  if (secret !== undefined) {
    return <SecretOnce title={text.webhooks.secret} values={[[text.webhooks.secret, secret]]} onClose={onClose} />;
  }
  return (
    <FormDialog
      title={webhook === undefined ? text.webhooks.add : `${text.common.edit}: ${webhook.name || webhook.url}`}
      label={webhook === undefined ? text.common.add : text.common.save}
      act={save}
      onClose={onClose}
      isReady={isObject && url !== ''}
      size="lg"
    >
      {(errorOf) => (
        <>
          <TextField data-autofocus label={text.common.name} value={name} error={errorOf('name')} onText={setName} />
          <TextField
            label={text.webhooks.url}
            required
            placeholder="https://erp.example.com/orders"
            value={url}
            error={errorOf('url')}
            onText={setUrl}
          />
          <MultiSelect
            label={text.webhooks.events}
            data={[...EVENTS]}
            value={events}
            onChange={(next) => setEvents(next as Webhook['events'])}
          />
          <Textarea
            label={text.webhooks.customData}
            autosize
            minRows={2}
            maxRows={10}
            className="mono"
            value={customData}
            error={isObject ? errorOf('custom_data') : text.webhooks.badJson}
            onChange={({ currentTarget }) => setCustomData(currentTarget.value)}
          />
        </>
      )}
    </FormDialog>
  );
}
