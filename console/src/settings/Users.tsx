/** The people of the tenant, and their roles. */
import { Badge, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, bodyOf, dataOf, type User } from '../api/client';
import { sessionQuery, useRoles, usersQuery } from '../api/queries';
import { Confirm, InputsDialog, Opens, useSecretOnce } from '../app/Dialogs';
import { useText, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { type Invitation, linkOf } from '../app/Password';
import { Rows } from '../app/Rows';

const pathOf = ({ id }: User) => ({ params: { path: { user_id: Number(id) } } });

export function Users() {
  const text = useText();
  const { isAdmin } = useRoles();
  const me = useQuery(sessionQuery).data;
  const [dialog, show] = useSecretOnce(text.users.invitation, <Text size="sm">{text.users.invitationWhy}</Text>);
  const onInvited = (invited: Invitation) => show([[text.users.link, linkOf(invited)]]);
  const add = isAdmin && (
    <Opens label={text.users.add} variant="filled">
      {(close) => <UserForm onClose={close} onInvited={onInvited} />}
    </Opens>
  );
  return (
    <Page title={text.users.title} actions={add}>
      <Loaded query={useQuery(usersQuery)}>
        {(users) => (
          <Rows
            label={text.users.title}
            heads={[text.common.name, text.signIn.email, text.users.roles, text.common.actions]}
            rows={users.map((user) => ({
              id: String(user.id),
              cells: [
                <>
                  <bdi>{user.first_name}</bdi> <bdi>{user.last_name}</bdi>{' '}
                  <Invited until={user.first_password_ends_at} />
                </>,
                <bdi key="email">{user.email}</bdi>,
                user.roles.map((role) => text.users.role[role]).join(', '),
                isAdmin && (
                  <Group key="actions" gap="xs" className="actions">
                    <Opens label={text.common.edit}>
                      {(close) => <UserForm user={user} onClose={close} onInvited={onInvited} />}
                    </Opens>
                    <Confirm
                      label={text.users.reset}
                      of={user.email}
                      why={text.users.resetWhy}
                      act={async () => {
                        const made = await dataOf(api.POST('/api/v1/platform/users/{user_id}/password', pathOf(user)));
                        onInvited({ email: user.email, password: made.password ?? '' });
                      }}
                    />
                    {user.id !== me?.id && (
                      <Confirm
                        label={text.common.remove}
                        of={`${user.first_name} ${user.last_name}`}
                        act={() => bodyOf(api.DELETE('/api/v1/platform/users/{user_id}', pathOf(user)))}
                      />
                    )}
                  </Group>
                ),
              ],
            }))}
          />
        )}
      </Loaded>
      {dialog}
    </Page>
  );
}

/** Until when the first password of somebody who has not signed in yet is good. */
function Invited({ until }: { readonly until: string | null }) {
  const text = useText().users;
  if (until === null) return null;
  const isOver = Date.parse(until) < Date.now();
  return (
    <Badge color={isOver ? 'red' : 'gray'}>
      {isOver ? text.invitationOver : text.invitedUntil} <When at={until} />
    </Badge>
  );
}

type FormProps = { readonly user?: User; readonly onClose: () => void; readonly onInvited: (made: Invitation) => void };

function UserForm({ user, onClose, onInvited }: FormProps) {
  const { users: text, common, signIn } = useText();
  const send = async ({ email, ...body }: Pick<User, 'email' | 'first_name' | 'last_name' | 'roles'>) => {
    if (user === undefined) {
      const made = await dataOf(api.POST('/api/v1/platform/users', { body: { ...body, email } }));
      onInvited({ email, password: made.password ?? '' });
    } else await bodyOf(api.PUT('/api/v1/platform/users/{user_id}', { ...pathOf(user), body }));
  };
  const { email = '', first_name = '', last_name = '', roles = ['validator'] } = user ?? {};
  const choices = Object.entries(text.role).map(([value, label]) => ({ value, label }));
  return (
    <InputsDialog
      title={user === undefined ? text.add : `${common.edit}: ${email}`}
      label={user === undefined ? common.add : common.save}
      inputs={[
        ...(user === undefined ? [{ name: 'email', label: signIn.email, required: true }] : []),
        { name: 'first_name', label: text.firstName, required: true },
        { name: 'last_name', label: text.lastName, required: true },
        { name: 'roles', label: text.roles, choices },
      ]}
      values={{ email, first_name, last_name, roles }}
      send={send}
      onClose={onClose}
    />
  );
}
