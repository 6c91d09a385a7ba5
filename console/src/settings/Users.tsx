/** The people of the tenant, and their roles. */
import { Badge, Button, Checkbox, Group, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf, type Role, type User } from '../api/client';
import { sessionQuery } from '../api/queries';
import { Asked, FormDialog, SecretOnce } from '../app/Dialogs';
import { useText } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { useRoles } from '../app/useRoles';

const ROLES: readonly Role[] = ['admin', 'validator', 'auditor'];

export function Users() {
  const text = useText();
  const client = useQueryClient();
  const { isAdmin } = useRoles();
  const me = useQuery(sessionQuery).data;
  const [edited, setEdited] = useState<User | 'new' | undefined>();
  const [password, setPassword] = useState<string | undefined>();
  const list = useQuery({
    queryKey: ['users'],
    queryFn: async () => (await bodyOf(api.GET('/api/v1/platform/users'))).data,
  });
  const refresh = () => client.invalidateQueries({ queryKey: ['users'] });
  return (
    <Page
      title={text.users.title}
      actions={isAdmin && <Button onClick={() => setEdited('new')}>{text.users.add}</Button>}
    >
      <Loaded query={list}>
        {(users) => (
          <Rows
            label={text.users.title}
            minWidth={600}
            heads={[
              { label: text.common.name },
              { label: text.users.email, isText: true },
              { label: text.users.roles },
              { label: text.common.actions },
            ]}
            rows={users.map((user) => ({
              id: String(user.id),
              cells: [
                <>
                  <bdi>
                    {user.first_name} {user.last_name}
                  </bdi>{' '}
                  {user.must_change_password && (
                    <Badge variant="dot" color="gray" tt="none">
                      {text.users.mustChange}
                    </Badge>
                  )}
                </>,
                user.email,
                user.roles.map((role) => text.users.role[role]).join(', '),
                isAdmin && (
                  <Group key="actions" gap="xs">
                    <Button size="xs" variant="default" onClick={() => setEdited(user)}>
                      {text.common.edit}
                    </Button>
                    <Asked
                      label={text.users.reset}
                      why={text.users.resetWhy}
                      act={async () => {
                        const params = { path: { user_id: user.id } } as never;
                        const { data } = await bodyOf(
                          api.POST('/api/v1/platform/users/{user_id}/password', { params }),
                        );
                        setPassword(data.password);
                        await refresh();
                      }}
                    />
                    {user.id !== me?.id && (
                      <Asked
                        label={text.users.remove}
                        act={async () => {
                          const params = { path: { user_id: user.id } } as never;
                          await bodyOf(api.DELETE('/api/v1/platform/users/{user_id}', { params }));
                          await refresh();
                        }}
                      />
                    )}
                  </Group>
                ),
              ],
            }))}
          />
        )}
      </Loaded>
      {edited !== undefined && (
        <UserForm
          {...(edited === 'new' ? {} : { user: edited })}
          onClose={() => setEdited(undefined)}
          onDone={async (given) => {
            setPassword(given);
            await refresh();
          }}
        />
      )}
      {password !== undefined && (
        <SecretOnce
          title={text.users.firstPassword}
          values={[[text.users.firstPassword, password]]}
          onClose={() => setPassword(undefined)}
        />
      )}
    </Page>
  );
}

type FormProps = {
  readonly user?: User;
  readonly onClose: () => void;
  /** Given the first password of a new user. */
  readonly onDone: (password: string | undefined) => Promise<void>;
};

function UserForm({ user, onClose, onDone }: FormProps) {
  const text = useText();
  const [email, setEmail] = useState(user?.email ?? '');
  const [firstName, setFirstName] = useState(user?.first_name ?? '');
  const [lastName, setLastName] = useState(user?.last_name ?? '');
  const [roles, setRoles] = useState<string[]>(user?.roles ?? ['validator']);
  const save = async () => {
    const body = { first_name: firstName, last_name: lastName, roles: roles as Role[] };
    const params = { path: { user_id: user?.id ?? 0 } } as never;
    const password =
      user === undefined
        ? (await bodyOf(api.POST('/api/v1/platform/users', { body: { ...body, email } }))).data.password
        : void (await bodyOf(api.PUT('/api/v1/platform/users/{user_id}', { params, body })));
    onClose();
    await onDone(password);
  };
  const isNew = user === undefined;
  return (
    <FormDialog
      title={isNew ? text.users.add : text.common.edit}
      label={isNew ? text.common.add : text.common.save}
      act={save}
      onClose={onClose}
    >
      {(errorOf) => (
        <>
          {isNew && (
            <TextInput
              data-autofocus
              type="email"
              label={text.users.email}
              required
              value={email}
              error={errorOf('email')}
              onChange={({ currentTarget }) => setEmail(currentTarget.value)}
            />
          )}
          <TextInput
            label={text.users.firstName}
            required
            value={firstName}
            error={errorOf('first_name')}
            onChange={({ currentTarget }) => setFirstName(currentTarget.value)}
          />
          <TextInput
            label={text.users.lastName}
            required
            value={lastName}
            error={errorOf('last_name')}
            onChange={({ currentTarget }) => setLastName(currentTarget.value)}
          />
          <Checkbox.Group label={text.users.roles} value={roles} onChange={setRoles} error={errorOf('roles')}>
            <Group pt="xs">
              {ROLES.map((role) => (
                <Checkbox key={role} value={role} label={text.users.role[role]} />
              ))}
            </Group>
          </Checkbox.Group>
        </>
      )}
    </FormDialog>
  );
}
