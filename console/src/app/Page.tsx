/** The frame of a page: its heading, its errors, and what stands where there is nothing. */
import { Alert, Anchor, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useNetwork } from '@mantine/hooks';
import { type ReactNode, useEffect } from 'react';
import { ApiError } from '../api/client';
import { useText, When } from './language';
import { Names } from './Rows';

type PageProps = {
  /** Or names of what it is about. */
  readonly title: string | readonly string[];
  /** Beside the heading. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
};

export function Page({ title, actions, children }: PageProps) {
  const text = useText();
  const { online } = useNetwork();
  const names = [title].flat();
  useEffect(() => {
    document.title = `${names.join(' · ')} – ${text.product}`;
  });
  return (
    <Stack gap="md">
      <Group justify="space-between" align="center">
        <Title order={1}>
          <Names>{names}</Names>
        </Title>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {!online && <Alert color="orange">{text.common.offline}</Alert>}
      {children}
    </Stack>
  );
}

/** A part of a page, under a heading of its own. */
export const Section = ({ title, children }: Pick<PageProps, 'children'> & { readonly title: string }) => (
  <Stack component="section" gap="xs">
    <Title order={2}>{title}</Title>
    {children}
  </Stack>
);

/** Says what went wrong and what to do; the service's own words do that. */
export function Problem({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const text = useText();
  const message = error instanceof Error ? error.message : String(error);
  const messages = error instanceof ApiError ? Object.entries(error.fields) : [];
  // A refusal of one field says it in its message already.
  const fields = messages.filter(([, texts]) => texts.join(' ') !== message);
  return (
    <Alert color="red" variant="light" role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{message}</Text>
        {fields.map(([field, texts]) => (
          <Text key={field} size="sm">
            {texts.join(' ')}
          </Text>
        ))}
        {onRetry !== undefined && (
          <Button size="xs" variant="default" onClick={onRetry}>
            {text.common.retry}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** Says what to do next where there is nothing to show. */
export function Empty({ children, action }: { readonly children: ReactNode; readonly action?: ReactNode }) {
  return (
    <Stack align="center" py="xl" gap="sm">
      <Text c="var(--mantine-color-text)" ta="center" maw="32rem">
        {children}
      </Text>
      {action}
    </Stack>
  );
}

type PastProps = { readonly at: string; readonly from?: ReactNode; readonly onNow: () => void };

/** Says that the past is shown, as it was `at` a moment, or how that differs from another, with the way back. */
export function Past({ at, from, onNow }: PastProps) {
  const { common: text, tables } = useText();
  return (
    <Alert color="yellow" icon={<span className="icon" data-page="/activity" />} role="note" p="xs">
      <Group justify="space-between">
        <Text size="sm">
          {from === undefined ? text.past : [tables.differences, ': ', from, ' →']} <When at={at} long />
        </Text>
        <Button size="compact-sm" variant="default" onClick={onNow}>
          {text.backToNow}
        </Button>
      </Group>
    </Alert>
  );
}

/** Lines that stand where text will be. */
export function Loading() {
  const text = useText();
  return (
    <Stack gap="sm" py="xs" role="status" aria-label={text.signIn.loading}>
      {['40%', '90%', '75%', '82%'].map((width) => (
        <Skeleton key={width} h={16} w={width} />
      ))}
    </Stack>
  );
}

export type Read<T> = {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isPending: boolean;
  readonly refetch: () => unknown;
};

/** What was read, once it is there; the error with a way to try again otherwise. */
export function Loaded<T>({ query, children }: { readonly query: Read<T>; readonly children: (data: T) => ReactNode }) {
  const { data, error, isPending, refetch } = query;
  if (data === undefined && isPending) return <Loading />;
  return (
    <>
      {(error ?? null) !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && children(data)}
    </>
  );
}

type Continued = {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
};

/** The button under a list with a cursor, while there is a next page. */
export function More({ list }: { readonly list: Continued }) {
  const text = useText();
  if (!list.hasNextPage) return null;
  return (
    <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
      {text.common.more}
    </Button>
  );
}

type ListedProps<T> = {
  readonly list: Read<{ readonly pages: readonly { readonly data: readonly T[] }[] }> & Continued;
  /** What is said where there is nothing. */
  readonly none: string;
  readonly children: (all: readonly T[]) => ReactNode;
};

/** All that was read of a list with a cursor, and the button for more. */
export function Listed<T>({ list, none, children }: ListedProps<T>) {
  return (
    <>
      <Loaded query={list}>
        {({ pages }) => {
          const all = pages.flatMap(({ data }) => data);
          return all.length === 0 ? <Empty>{none}</Empty> : children(all);
        }}
      </Loaded>
      <More list={list} />
    </>
  );
}

export function NotFound() {
  const text = useText();
  return (
    <Page title={text.common.notFound}>
      {/* The service knows where it is: at a tenant's host or at the operator's. */}
      <Anchor href="/console">{text.menu.home}</Anchor>
    </Page>
  );
}
