import { Center } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, api, bodyOf, dataOf } from '../api/client';
import { queryClient, setSession } from '../api/queries';
import { useSessionText } from './language';
import { SessionForm, type Values } from './SignIn';

type Props = {
  /** Whether the password that the user was given must be changed before anything else. */
  readonly isFirst?: boolean;
  /** What the link of an invitation has: it signs in. */
  readonly invited?: Invitation;
};

export function PasswordForm({ isFirst = false, invited }: Props) {
  const text = useSessionText();
  const navigate = useNavigate();
  const why = invited === undefined ? text.firstWhy : text.invitedWhy;
  const email = { name: 'email', label: text.email, autoComplete: 'username', value: invited?.email ?? '' };
  const old = { name: 'old_password', label: text.oldPassword, autoComplete: 'current-password' };
  const next = { name: 'new_password', label: text.newPassword, autoComplete: 'new-password' };
  const change = useMutation({
    mutationFn: async ({ old_password = invited?.password ?? '', new_password = '' }: Values) => {
      if (invited !== undefined) await bodyOf(api.POST('/api/v1/platform/session', { body: invited }));
      return dataOf(api.POST('/api/v1/platform/session/password', { body: { old_password, new_password } }));
    },
    onSuccess: ({ user }) => {
      if (invited !== undefined) void navigate({ to: '/', replace: true });
      notifications.show({ message: text.changed });
      void queryClient.invalidateQueries({ queryKey: ['sessions'] });
      setSession(user);
    },
  });
  return (
    <SessionForm
      {...(isFirst || invited !== undefined ? { title: text.firstTitle, why } : {})}
      label={text.change}
      fields={invited === undefined ? [old, next] : [email, next]}
      send={change.mutateAsync}
    >
      {(error) =>
        invited !== undefined &&
        error instanceof ApiError &&
        error.status === 401 && <a href="/console">{text.linkOver}</a>
      }
    </SessionForm>
  );
}

export type Invitation = { readonly email: string; readonly password: string };

/** What is behind the # no browser sends, so no log has it. */
export const linkOf = (invited: Invitation): string =>
  `${window.location.origin}/console/welcome#${new URLSearchParams(invited)}`;

/** The page behind the link, where a new colleague chooses a password. */
export function Welcome() {
  const [invited] = useState((): Invitation => {
    const given = new URLSearchParams(window.location.hash.slice(1));
    return { email: given.get('email') ?? '', password: given.get('password') ?? '' };
  });
  return (
    <Center component="main" mih="100vh" p="md">
      <PasswordForm invited={invited} />
    </Center>
  );
}
