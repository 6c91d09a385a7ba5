import { Button, Center, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ApiError, api, bodyOf, type User } from '../api/client';
import { setSession, useForgottenPages } from '../api/queries';
import { useText } from './language';
import { Problem } from './Page';

type FormProps = {
  readonly title?: string;
  readonly why?: string;
  /** Of the button. */
  readonly label: string;
  /** By their names in the API; the first has the focus. */
  readonly fields: readonly { readonly name: string; readonly label: string; readonly autoComplete: string }[];
  /** Given the values by the names. */
  readonly send: (values: { readonly [name: string]: string }) => Promise<{ readonly data: { readonly user: User } }>;
  readonly onDone?: () => void;
  /** Above the fields, given the refusal. */
  readonly children?: (error: unknown) => ReactNode;
};

/** A form that opens a session: with a password, or with a new one in place of it. */
export function SessionForm({ title, why, label, fields, send, onDone, children }: FormProps) {
  const [values, setValues] = useState<{ readonly [name: string]: string }>({});
  const action = useMutation({
    mutationFn: () => send(values),
    onSuccess: ({ data }) => {
      onDone?.();
      setValues({});
      setSession(data.user);
    },
  });
  const errors = action.error instanceof ApiError ? action.error.fields : {};
  return (
    <Paper
      component="form"
      withBorder
      p="xl"
      w="26rem"
      maw="100%"
      onSubmit={(event) => {
        event.preventDefault();
        action.mutate();
      }}
    >
      <Stack>
        {title !== undefined && <Title order={1}>{title}</Title>}
        {why !== undefined && <Text>{why}</Text>}
        {action.error !== null && Object.keys(errors).length === 0 && <Problem error={action.error} />}
        {children?.(action.error)}
        {fields.map(({ name, ...field }, at) => {
          const Input = name === 'email' ? TextInput : PasswordInput;
          return (
            <Input
              key={name}
              name={name}
              {...field}
              {...(name === 'email' ? { type: 'email' } : {})}
              required
              autoFocus={at === 0}
              value={values[name] ?? ''}
              error={errors[name]?.join(' ')}
              onChange={({ currentTarget }) => setValues({ ...values, [name]: currentTarget.value })}
            />
          );
        })}
        <Button type="submit" loading={action.isPending}>
          {label}
        </Button>
      </Stack>
    </Paper>
  );
}

export function SignIn() {
  useForgottenPages();
  const text = useText().signIn;
  return (
    <Center component="main" mih="100vh" p="md">
      <SessionForm
        title={text.title}
        label={text.title}
        fields={[
          { name: 'email', label: text.email, autoComplete: 'username' },
          { name: 'password', label: text.password, autoComplete: 'current-password' },
        ]}
        send={({ email = '', password = '' }) =>
          bodyOf(api.POST('/api/v1/platform/session', { body: { email, password } }))
        }
      />
    </Center>
  );
}
