/** Programs that use the API: their scopes, their secrets, and when they last came. */
import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, bodyOf, dataOf, type Schemas } from '../api/client';
import { apiClientsQuery, useRoles } from '../api/queries';
import { Confirm, InputsDialog, Opens, useSecretOnce } from '../app/Dialogs';
import { useText, When } from '../app/language';
import { Empty, Loaded, Page } from '../app/Page';
import { Rows } from '../app/Rows';

type Client = Schemas['ApiClient'];
type Secret = Pick<Schemas['ApiClientWithSecret'], 'client_id' | 'client_secret'>;

const SCOPES: readonly Client['scopes'][number][] = [
  'read:reference_data',
  'write:reference_data',
  'read:order_data',
  'write:order_data',
  'read:audit',
];

export function ApiClients() {
  const { clients: text, common } = useText();
  const { isAdmin } = useRoles();
  const [dialog, show] = useSecretOnce(text.secret);
  const onSecret = ({ client_id: id, client_secret: secret }: Secret) =>
    show([
      [text.id, id],
      [text.secret, secret],
    ]);
  const add = isAdmin && (
    <Opens label={text.add} variant="filled">
      {(close) => <ClientForm onClose={close} onAdded={onSecret} />}
    </Opens>
  );
  return (
    <Page title={text.title} actions={add}>
      <Loaded query={useQuery(apiClientsQuery)}>
        {(clients) => (
          <Rows
            label={text.title}
            none={<Empty action={add}>{text.none}</Empty>}
            heads={[{ label: common.name, isText: true }, text.scopes, text.lastUsed, common.actions]}
            rows={clients.map((client) => ({
              id: client.client_id,
              cells: [
                <bdi key="name">{client.name}</bdi>,
                client.scopes.join(', '),
                <LastUse key="used" {...client} />,
                isAdmin && <Actions key="actions" client={client} onSecret={onSecret} />,
              ],
            }))}
          />
        )}
      </Loaded>
      {dialog}
    </Page>
  );
}

function LastUse({ last_used_on: day, old_secret_ends_at: end }: Client) {
  const text = useText().clients;
  return (
    <>
      {day === null ? text.never : <When at={day} />}
      {end !== null && Date.parse(end) > Date.now() && (
        <Text size="sm">
          {text.rotation} <When at={end} long />
        </Text>
      )}
    </>
  );
}

type ActionsProps = { readonly client: Client; readonly onSecret: (secret: Secret) => void };

function Actions({ client, onSecret }: ActionsProps) {
  const { clients: text, common } = useText();
  const { name } = client;
  const path = { params: { path: { client_id: client.client_id } } };
  return (
    <Group gap="xs" className="actions">
      <Opens label={common.edit}>{(close) => <ClientForm client={client} onClose={close} onAdded={onSecret} />}</Opens>
      <Confirm
        label={text.rotate}
        of={name}
        why={text.rotateWhy}
        color="indigo"
        act={() => dataOf(api.POST('/api/v1/platform/api-clients/{client_id}/secret/rotate', path)).then(onSecret)}
      />
      <Confirm
        label={text.regenerate}
        of={name}
        why={text.regenerateWhy}
        act={() => dataOf(api.POST('/api/v1/platform/api-clients/{client_id}/secret', path)).then(onSecret)}
      />
      <Confirm
        label={common.remove}
        of={name}
        why={text.removeWhy}
        act={() => bodyOf(api.DELETE('/api/v1/platform/api-clients/{client_id}', path))}
      />
    </Group>
  );
}

type FormProps = { readonly client?: Client; readonly onClose: () => void; readonly onAdded: (made: Secret) => void };

/** Adds a client, or changes the one that is given. */
function ClientForm({ client, onClose, onAdded }: FormProps) {
  const { clients: text, common } = useText();
  const send = async (body: Pick<Client, 'name' | 'scopes'>) => {
    const params = { path: { client_id: client?.client_id ?? '' } };
    if (client === undefined) onAdded(await dataOf(api.POST('/api/v1/platform/api-clients', { body })));
    else await bodyOf(api.PUT('/api/v1/platform/api-clients/{client_id}', { params, body }));
  };
  return (
    <InputsDialog
      title={client === undefined ? text.add : `${common.edit}: ${client.name}`}
      label={client === undefined ? common.add : common.save}
      inputs={[
        { name: 'name', label: common.name, required: true },
        { name: 'scopes', label: text.scopes, description: text.scopesWhy, choices: SCOPES },
      ]}
      values={{ name: client?.name ?? '', scopes: client?.scopes ?? SCOPES.slice(0, 2) }}
      send={send}
      onClose={onClose}
    />
  );
}
