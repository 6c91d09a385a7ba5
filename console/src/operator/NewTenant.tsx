/** A new tenant, with the credentials of its first admin and of its first API client, which are shown once. */
import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { bodyOf } from '../api/client';
import { FormDialog, Opens, SecretOnce, TextField } from '../app/Dialogs';
import { useText } from '../app/language';
import { api, type Schemas } from './client';
import { useWords } from './words';

export function NewTenant() {
  const { clients, common, signIn, tenant, users } = useText();
  const { opening } = useWords();
  const [given, setGiven] = useState({ name: '', order_model: 'dyn_stock_order', admin_email: '' });
  const [made, setMade] = useState<Schemas['OpenedTenant']>();
  const open = async () => {
    const body = { ...given, admin_email: given.admin_email || undefined } as never;
    setMade((await bodyOf(api.POST('/api/v1/operator/tenants', { body }))).data);
  };
  return (
    <>
      <Opens label={opening.title}>
        {(close) => (
          <FormDialog title={opening.title} label={common.add} act={() => open().then(close)} onClose={close}>
            {(errorOf) => (
              <>
                {(['name', 'admin_email'] as const).map((field) => (
                  <TextField
                    key={field}
                    label={opening[field]}
                    value={given[field]}
                    error={errorOf(field)}
                    onText={(text) => setGiven({ ...given, [field]: text })}
                  />
                ))}
                <NativeSelect
                  label={tenant.model}
                  data={['dyn_stock_order', 'dyn_transport_order']}
                  value={given.order_model}
                  onChange={({ currentTarget }) => setGiven({ ...given, order_model: currentTarget.value })}
                />
              </>
            )}
          </FormDialog>
        )}
      </Opens>
      {made !== undefined && (
        <SecretOnce
          title={given.name}
          values={[
            [signIn.email, made.admin.email],
            [users.firstPassword, made.admin.password],
            [clients.id, made.client.client_id],
            [clients.secret, made.client.client_secret],
          ]}
          onClose={() => setMade(undefined)}
        />
      )}
    </>
  );
}
