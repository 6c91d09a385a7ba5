import { Anchor, Button, Center, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ApiError, api, bodyOf } from '../api/client';
import { setSession } from '../api/queries';
import { useText } from './language';
import { Page, Problem } from './Page';

type Props = {
  /** Whether the password that the user was given must be changed before anything else. */
  readonly isFirst?: boolean;
  /** What the link of an invitation has: it signs in. */
  readonly invited?: Invitation;
};

export function PasswordForm({ isFirst = false, invited }: Props) {
  const text = useText().signIn;
  const navigate = useNavigate();
  const [old, setOld] = useState(invited?.password ?? '');
  const [next, setNext] = useState('');
  const change = useMutation({
    mutationFn: async () => {
      if (invited !== undefined) await bodyOf(api.POST('/api/v1/platform/session', { body: invited }));
      const body = { old_password: old, new_password: next };
      return bodyOf(api.POST('/api/v1/platform/session/password', { body }));
    },
    onSuccess: ({ data }) => {
      if (invited !== undefined) void navigate({ to: '/', replace: true });
      setOld('');
      setNext('');
      setSession(data.user);
      notifications.show({ message: text.changed });
    },
  });
  const fields = change.error instanceof ApiError ? change.error.fields : {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Paper component="form" withBorder p="xl" w="26rem" maw="100%" onSubmit={submit}>
      <Stack>
        {(isFirst || invited !== undefined) && (
          <>
            <Title order={1} size="h2">
              {text.firstTitle}
            </Title>
            <Text>{invited === undefined ? text.firstWhy : text.invitedWhy}</Text>
          </>
        )}
        {change.error !== null && Object.keys(fields).length === 0 && <Problem error={change.error} />}
        {invited !== undefined && change.error instanceof ApiError && change.error.status === 401 && (
          <Anchor href="/console">{text.linkOver}</Anchor>
        )}
        {invited === undefined ? (
          <PasswordInput
            label={text.oldPassword}
            autoComplete="current-password"
            required
            autoFocus
            value={old}
            error={fields.old_password?.join(' ')}
            onChange={(event) => setOld(event.currentTarget.value)}
          />
        ) : (
          <TextInput label={text.email} autoComplete="username" readOnly value={invited.email} />
        )}
        <PasswordInput
          label={text.newPassword}
          autoComplete="new-password"
          required
          autoFocus={invited !== undefined}
          value={next}
          error={fields.new_password?.join(' ')}
          onChange={(event) => setNext(event.currentTarget.value)}
        />
        <Button type="submit" loading={change.isPending}>
          {text.change}
        </Button>
      </Stack>
    </Paper>
  );
}

export function PasswordPage() {
  return (
    <Page title={useText().menu.password}>
      <PasswordForm />
    </Page>
  );
}

export type Invitation = { readonly email: string; readonly password: string };

/** What is behind the # no browser sends, so no log has it. */
export const linkOf = (invited: Invitation): string =>
  `${window.location.origin}/console/welcome#${new URLSearchParams(invited)}`;

function invitationIn(fragment: string): Invitation {
  const given = new URLSearchParams(fragment);
  return { email: given.get('email') ?? '', password: given.get('password') ?? '' };
}

/** The page behind the link, where a new colleague chooses a password. */
export function Welcome() {
  const [invited] = useState(() => invitationIn(window.location.hash.slice(1)));
  return (
    <Center component="main" mih="100vh" p="md">
      <PasswordForm invited={invited} />
    </Center>
  );
}
