import { Anchor, Center, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, api, bodyOf } from '../api/client';
import { useText } from './language';
import { Page } from './Page';
import { SessionForm } from './SignIn';

type Props = {
  /** Whether the password that the user was given must be changed before anything else. */
  readonly isFirst?: boolean;
  /** What the link of an invitation has: it signs in. */
  readonly invited?: Invitation;
};

export function PasswordForm({ isFirst = false, invited }: Props) {
  const text = useText().signIn;
  const navigate = useNavigate();
  const why = invited === undefined ? text.firstWhy : text.invitedWhy;
  const old = { name: 'old_password', label: text.oldPassword, autoComplete: 'current-password' };
  const next = { name: 'new_password', label: text.newPassword, autoComplete: 'new-password' };
  return (
    <SessionForm
      {...(isFirst || invited !== undefined ? { title: text.firstTitle, why } : {})}
      label={text.change}
      fields={invited === undefined ? [old, next] : [next]}
      send={async ({ old_password = invited?.password ?? '', new_password = '' }) => {
        if (invited !== undefined) await bodyOf(api.POST('/api/v1/platform/session', { body: invited }));
        return bodyOf(api.POST('/api/v1/platform/session/password', { body: { old_password, new_password } }));
      }}
      onDone={() => {
        if (invited !== undefined) void navigate({ to: '/', replace: true });
        notifications.show({ message: text.changed });
      }}
    >
      {(error) =>
        invited !== undefined && (
          <>
            {error instanceof ApiError && error.status === 401 && <Anchor href="/console">{text.linkOver}</Anchor>}
            <TextInput label={text.email} autoComplete="username" readOnly value={invited.email} />
          </>
        )
      }
    </SessionForm>
  );
}

export function PasswordPage() {
  return (
    <Page title={useText().signIn.change}>
      <PasswordForm />
    </Page>
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
