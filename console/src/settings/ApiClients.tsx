/** Programs that use the API: their scopes, their secrets, and when they last came. */
import { Badge, Button, Checkbox, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { Asked, FormDialog, SecretOnce } from '../app/Dialogs';
import { useText, When } from '../app/language';
import { Empty, Loaded, Page } from '../app/Page';
import { useRoles } from '../app/useRoles';

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
  const text = useText();
  const { isAdmin } = useRoles();
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState<Secret | undefined>();
  const list = useQuery({
    queryKey: ['api-clients'],
    queryFn: async () => (await bodyOf(api.GET('/api/v1/platform/api-clients'))).data,
  });
  const add = isAdmin && <Button onClick={() => setAdding(true)}>{text.clients.add}</Button>;
  return (
    <Page title={text.clients.title} actions={add}>
      <Loaded query={list}>
        {(clients) =>
          clients.length === 0 ? (
            <Empty action={add}>{text.clients.none}</Empty>
          ) : (
            <Table.ScrollContainer minWidth={700}>
              <Table aria-label={text.clients.title}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{text.common.name}</Table.Th>
                    <Table.Th>{text.clients.scopes}</Table.Th>
                    <Table.Th>{text.clients.lastUsed}</Table.Th>
                    <Table.Th>{text.common.actions}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {clients.map((client) => (
                    <ClientRow key={client.client_id} client={client} isAdmin={isAdmin} onSecret={setSecret} />
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )
        }
      </Loaded>
      {isAdding && <AddClient onClose={() => setAdding(false)} onAdded={setSecret} />}
      {secret !== undefined && (
        <SecretOnce
          title={text.clients.secret}
          values={[
            [text.clients.id, secret.client_id],
            [text.clients.secret, secret.client_secret],
          ]}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Page>
  );
}

type RowProps = { readonly client: Client; readonly isAdmin: boolean; readonly onSecret: (secret: Secret) => void };

function ClientRow({ client, isAdmin, onSecret }: RowProps) {
  const text = useText().clients;
  const queries = useQueryClient();
  const path = { params: { path: { client_id: client.client_id } } };
  const then = (request: () => Promise<{ readonly data: object } | undefined>) => async () => {
    const answer = await request();
    if (answer !== undefined && 'client_secret' in answer.data) onSecret(answer.data as Secret);
    await queries.invalidateQueries({ queryKey: ['api-clients'] });
  };
  return (
    <Table.Tr>
      <Table.Td>
        <Text className="text">
          <bdi>{client.name}</bdi>
        </Text>
        <Text className="mono">{client.client_id}</Text>
      </Table.Td>
      <Table.Td>{client.scopes.join(', ')}</Table.Td>
      <Table.Td>
        {client.last_used_on ?? text.never}
        {client.old_secret_ends_at !== null && Date.parse(client.old_secret_ends_at) > Date.now() && (
          <Badge color="yellow" variant="dot" tt="none">
            {text.rotation} <When at={client.old_secret_ends_at} long />
          </Badge>
        )}
      </Table.Td>
      <Table.Td>
        {isAdmin && (
          <Group gap="xs">
            <Asked
              label={text.rotate}
              why={text.rotateWhy}
              color="indigo"
              act={then(() => bodyOf(api.POST('/api/v1/platform/api-clients/{client_id}/secret/rotate', path)))}
            />
            <Asked
              label={text.regenerate}
              why={text.regenerateWhy}
              act={then(() => bodyOf(api.POST('/api/v1/platform/api-clients/{client_id}/secret', path)))}
            />
            <Asked
              label={text.remove}
              why={text.removeWhy}
              act={then(
                async () =>
                  void (await bodyOf(api.DELETE('/api/v1/platform/api-clients/{client_id}', path))) as undefined,
              )}
            />
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function AddClient({ onClose, onAdded }: { readonly onClose: () => void; readonly onAdded: (secret: Secret) => void }) {
  const text = useText();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['read:reference_data', 'write:reference_data']);
  const add = async () => {
    const body = { name, scopes: scopes as Client['scopes'] };
    const { data } = await bodyOf(api.POST('/api/v1/platform/api-clients', { body }));
    await client.invalidateQueries({ queryKey: ['api-clients'] });
    onClose();
    onAdded(data);
  };
  return (
    <FormDialog title={text.clients.add} label={text.common.add} act={add} onClose={onClose} isReady={name !== ''}>
      {(errorOf) => (
        <>
          <TextInput
            data-autofocus
            label={text.common.name}
            required
            value={name}
            error={errorOf('name')}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Checkbox.Group label={text.clients.scopes} value={scopes} onChange={setScopes}>
            <Stack gap="xs" pt="xs">
              {SCOPES.map((scope) => (
                <Checkbox key={scope} value={scope} label={scope} />
              ))}
            </Stack>
          </Checkbox.Group>
        </>
      )}
    </FormDialog>
  );
}
