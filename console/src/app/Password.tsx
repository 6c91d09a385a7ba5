import { Button, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, api, bodyOf } from '../api/client';
import { setSession } from '../api/queries';
import { useText } from './language';
import { Page, Problem } from './Page';

/** @param isFirst whether the password that the user was given must be changed before anything else */
export function PasswordForm({ isFirst = false }: { readonly isFirst?: boolean }) {
  const text = useText().signIn;
  const [old, setOld] = useState('');
  const [next, setNext] = useState('');
  const change = useMutation({
    mutationFn: () =>
      bodyOf(api.POST('/api/v1/platform/session/password', { body: { old_password: old, new_password: next } })),
    onSuccess: ({ data }) => {
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
        {isFirst && (
          <>
            <Title order={1} size="h2">
              {text.firstTitle}
            </Title>
            <Text>{text.firstWhy}</Text>
          </>
        )}
        {change.error !== null && Object.keys(fields).length === 0 && <Problem error={change.error} />}
        <PasswordInput
          label={text.oldPassword}
          autoComplete="current-password"
          required
          autoFocus
          value={old}
          error={fields.old_password?.join(' ')}
          onChange={(event) => setOld(event.currentTarget.value)}
        />
        <PasswordInput
          label={text.newPassword}
          autoComplete="new-password"
          required
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
