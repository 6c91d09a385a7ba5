import { Button, Center, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, bodyOf } from '../api/client';
import { setSession, useForgottenPages } from '../api/queries';
import { useText } from './language';
import { Problem } from './Page';

export function SignIn() {
  useForgottenPages();
  const text = useText().signIn;
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useMutation({
    mutationFn: () => bodyOf(api.POST('/api/v1/platform/session', { body: { email, password } })),
    onSuccess: ({ data }) => setSession(data.user),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper component="form" withBorder p="xl" w="24rem" maw="100%" onSubmit={submit}>
        <Stack>
          <Title order={1} size="h2">
            {text.title}
          </Title>
          {signIn.error !== null && <Problem error={signIn.error} />}
          <TextInput
            label={text.email}
            type="email"
            name="email"
            autoComplete="username"
            required
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <PasswordInput
            label={text.password}
            name="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <Button type="submit" loading={signIn.isPending}>
            {text.submit}
          </Button>
        </Stack>
      </Paper>
    </Center>
  );
}
