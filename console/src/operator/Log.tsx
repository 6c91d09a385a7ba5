/** The event log or a stream of it, the latest first; and one event with all that it says. */
import { Code, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { bodyOf } from '../api/client';
import { type Column, Cut, DataTable } from '../app/DataTable';
import { useNumber, When } from '../app/language';
import { Empty, Loaded, More, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import { SearchField } from '../app/SearchField';
import type { LogSearch } from '../routes';
import { api, type LogEntry } from './client';
import { logQuery } from './queries';
import { useWords } from './words';

export function Log() {
  const words = useWords();
  const navigate = useNavigate();
  const search: LogSearch = getRouteApi('/operator/log').useSearch();
  const list = useInfiniteQuery(logQuery(search));
  const columns = useColumns();
  return (
    <Page title={words.menu.log}>
      <SearchField
        label={words.log.stream}
        value={search.stream ?? ''}
        onSearch={(stream) =>
          void navigate({ to: '/operator/log', search: stream === '' ? {} : { stream }, replace: true })
        }
      />
      <Loaded query={list}>
        {({ pages }) => {
          const entries = pages.flatMap(({ data }) => data);
          return entries.length === 0 ? (
            <Empty>{words.log.none}</Empty>
          ) : (
            <DataTable
              name="operator-log"
              label={words.menu.log}
              columns={columns}
              rows={entries}
              rowId={({ position }) => String(position)}
              onOpen={({ stream, revision }) =>
                void navigate({ to: '/operator/log/event', search: { stream, revision } })
              }
            />
          );
        }}
      </Loaded>
      <More list={list} />
    </Page>
  );
}

function useColumns(): readonly Column<LogEntry>[] {
  const { log } = useWords();
  const number = useNumber();
  return [
    { id: 'position', label: log.position, isNumber: true, cell: ({ position }) => number(position) },
    { id: 'when', label: log.when, cell: ({ occurred_at }) => <When at={occurred_at} /> },
    {
      id: 'type',
      label: log.what,
      cell: ({ type, stream, revision }) => (
        <Link to="/operator/log/event" search={{ stream, revision }}>
          {type}
        </Link>
      ),
    },
    { id: 'stream', label: log.stream, cell: ({ stream }) => <Cut>{stream}</Cut> },
    { id: 'who', label: log.who, cell: ({ actor }) => <Cut>{`${actor.kind} ${actor.name ?? actor.id}`}</Cut> },
  ];
}

export function LogEvent() {
  const words = useWords();
  const number = useNumber();
  const { stream, revision } = getRouteApi('/operator/log/event').useSearch();
  const event = useQuery({
    queryKey: ['operator', 'event', stream, revision],
    queryFn: async () =>
      (
        await bodyOf(
          api.GET('/api/v1/operator/log/event', { params: { query: { stream, revision: String(revision) } } }),
        )
      ).data,
  });
  return (
    <Page
      title={words.log.event(event.data?.type ?? words.log.what, number(revision))}
      actions={
        <Link to="/operator/log" search={{ stream }}>
          {words.log.ofStream}
        </Link>
      }
    >
      <Loaded query={event}>
        {(found) => (
          <Stack>
            <Facts
              label={words.log.what}
              facts={[
                [words.log.stream, <bdi key="stream">{found.stream}</bdi>],
                [words.log.position, number(found.position)],
                [words.log.when, <When key="when" at={found.occurred_at} long />],
                [words.log.who, <bdi key="who">{`${found.actor.kind} ${found.actor.name ?? found.actor.id}`}</bdi>],
              ]}
            />
            <Json label={words.log.data} value={found.data} />
            <Json label={words.log.metadata} value={found.metadata} />
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

/** Characters that are shown: an event may have a megabyte. */
const MOST_SHOWN = 100_000;

function Json({ label, value }: { readonly label: string; readonly value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <Stack component="section" gap="xs">
      <Title order={2} size="h4">
        {label}
      </Title>
      <Code block className="json" tabIndex={0} aria-label={label}>
        {text.slice(0, MOST_SHOWN)}
      </Code>
      {text.length > MOST_SHOWN && <Text size="sm">…</Text>}
    </Stack>
  );
}
