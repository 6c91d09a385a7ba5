/** The webhooks of the tenant. */
import { Badge, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, bodyOf, dataOf, reasonInWords, type Schemas } from '../api/client';
import { useRoles, webhooksQuery } from '../api/queries';
import { InputsDialog, Opens, type Secrets, useSecretOnce } from '../app/Dialogs';
import { useText } from '../app/language';
import { Empty, Loaded, Page } from '../app/Page';
import { Cut, Rows } from '../app/Rows';
import { Health } from './SuccessByHour';

export type Webhook = Schemas['Webhook'];

/** The compiler wants those of the service here, each once. */
const ARE_EVENTS: { readonly [event in Webhook['events'][number]]: true } = {
  'order.created': true,
  'order.updated': true,
  'order.status_changed': true,
  'order.approved': true,
  'order.export_failed': true,
  'reference.batch_upserted': true,
  'reference.cleaned_up': true,
};
export const EVENTS = Object.keys(ARE_EVENTS);

export function Webhooks() {
  const text = useText();
  const { isAdmin } = useRoles();
  const [dialog, show] = useSecretOnce(text.webhooks.secret);
  const add = isAdmin && (
    <Opens label={text.webhooks.add} variant="filled">
      {(close) => <WebhookForm onClose={close} onAdded={show} />}
    </Opens>
  );
  return (
    <Page title={text.webhooks.title} actions={add}>
      <Loaded query={useQuery(webhooksQuery)}>
        {(webhooks) => (
          <Rows
            label={text.webhooks.title}
            none={<Empty action={add}>{text.webhooks.none}</Empty>}
            heads={[
              text.common.name,
              { label: text.webhooks.events, isText: true },
              text.webhooks.lastDay,
              text.common.status,
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
        )}
      </Loaded>
      {dialog}
    </Page>
  );
}

export function WebhookState({ webhook }: { readonly webhook: Webhook }) {
  const text = useText().webhooks;
  return (
    <Group gap="xs">
      <Badge color={webhook.enabled ? 'green' : 'red'}>{webhook.enabled ? text.enabled : text.disabled}</Badge>
      {webhook.disabled !== null && <span className="text">{reasonInWords(webhook.disabled.reason)}</span>}
    </Group>
  );
}

type FormProps = {
  readonly webhook?: Webhook;
  readonly onClose: () => void;
  readonly onAdded: (made: Secrets) => void;
};

/** Adds a webhook, or changes the one that is given. */
export function WebhookForm({ webhook, onClose, onAdded }: FormProps) {
  const { webhooks: text, common } = useText();
  const send = async ({
    custom_data: typed,
    ...body
  }: Pick<Webhook, 'name' | 'url' | 'events'> & { custom_data: string }) => {
    // As it was typed: a number that JavaScript cannot hold would become another one, where the service refuses it.
    const bodySerializer = () => `${JSON.stringify(body).slice(0, -1)},"custom_data":${typed}}`;
    const params = { path: { webhook_id: webhook?.id ?? '' } };
    if (webhook === undefined) {
      const { secret } = await dataOf(api.POST('/api/v1/platform/webhooks', { body, bodySerializer }));
      onAdded([[text.secret, secret]]);
    } else await bodyOf(api.PUT('/api/v1/platform/webhooks/{webhook_id}', { params, body, bodySerializer }));
  };
  const { name = '', url = '', events = ['order.approved'], custom_data = {} } = webhook ?? {};
  return (
    <InputsDialog
      title={webhook === undefined ? text.add : `${common.edit}: ${name || url}`}
      label={webhook === undefined ? common.add : common.save}
      inputs={[
        { name: 'name', label: common.name, required: true },
        { name: 'url', label: text.url, required: true },
        { name: 'events', label: text.events, choices: EVENTS },
        { name: 'custom_data', label: text.customData, isLong: true },
      ]}
      values={{ name, url, events, custom_data: JSON.stringify(custom_data, null, 2) }}
      send={send}
      onClose={onClose}
    />
  );
}
