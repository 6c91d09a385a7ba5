/** Who did what, the newest first: filtered by the address, so that a link shows the same. */
import { ActionIcon, Anchor, Button, Group, Select, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { api, bodyOf, type Schemas } from '../api/client';
import { assetTypesQuery } from '../api/queries';
import { useText, When } from '../app/language';
import { MomentInput } from '../app/MomentInput';
import { Listed, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { SearchField } from '../app/SearchField';
import { usePages } from '../app/usePages';
import { OrderField } from '../orders/OrderLink';
import type { ActivitySearch } from '../routes';
import { ACTIVITY_KINDS, useKindWords } from './words';

export type Entry = Schemas['ActivityEntry'];

export function Activity() {
  const text = useText();
  const navigate = useNavigate();
  const search: ActivitySearch = getRouteApi('/activity').useSearch();
  const tables = useQuery(assetTypesQuery).data ?? [];
  const wordsOf = useKindWords();
  const list = usePages(['activity', search], async (cursor) =>
    bodyOf(api.GET('/api/v1/platform/activity', { params: { query: { ...search, cursor, limit: 50 } as object } })),
  );
  const show = (next: ActivitySearch) => void navigate({ to: '/activity', search: next, replace: true });
  const set = (name: keyof ActivitySearch) => (value: string | null) => {
    const { [name]: _, ...others } = search;
    show(value === null || value === '' ? others : { ...others, [name]: value });
  };
  const choice = (name: 'kind' | 'table', data: readonly { readonly value: string; readonly label: string }[]) => (
    <Select
      label={name === 'kind' ? text.activity.kind : text.tables.one}
      searchable
      clearable
      data={[...data]}
      value={search[name] ?? null}
      onChange={set(name)}
    />
  );
  return (
    <Page
      title={text.activity.title}
      actions={
        <Anchor href={`/api/v1/platform/activity.csv?${new URLSearchParams(search)}`} download>
          {text.common.download}
        </Anchor>
      }
    >
      <Group gap="xs" align="flex-end">
        <SearchField label={text.activity.actor} value={search.actor ?? ''} onSearch={set('actor')} />
        {choice(
          'kind',
          ACTIVITY_KINDS.map((kind) => ({ value: kind, label: wordsOf(kind) })),
        )}
        {choice(
          'table',
          tables.map(({ name, label }) => ({ value: name, label })),
        )}
        <OrderField label={text.orders.one} value={search.order_id} onChange={set('order_id')} />
        <MomentInput label={text.common.from} value={search.from ?? ''} onChange={set('from')} />
        <MomentInput label={text.common.to} value={search.to ?? ''} onChange={set('to')} />
        {Object.keys(search).length > 0 && (
          <Button variant="default" onClick={() => show({})}>
            {text.common.clearFilters}
          </Button>
        )}
      </Group>
      <Listed list={list} none={text.activity.none}>
        {(entries) => <Entries entries={entries} onFilter={(more) => show({ ...search, ...more })} />}
      </Listed>
    </Page>
  );
}

type EntriesProps = { readonly entries: readonly Entry[]; readonly onFilter: (more: ActivitySearch) => void };

/** Who, what and on what: each can be made a filter. */
export function Entries({ entries, onFilter }: EntriesProps) {
  const text = useText().activity;
  const wordsOf = useKindWords();
  return (
    <Rows
      label={text.title}
      minWidth={600}
      heads={[{ label: text.when }, { label: text.who }, { label: text.what }, { label: text.on }]}
      rows={entries.map((entry) => ({
        id: entry.id,
        cells: [
          <Link key="when" to="/activity/$entryId" params={{ entryId: entry.id }}>
            <When at={entry.occurred_at} />
          </Link>,
          <Chip key="who" onClick={() => onFilter({ actor: entry.actor.id })}>
            {entry.actor.name ?? entry.actor.id}
          </Chip>,
          <>
            <Chip onClick={() => onFilter({ kind: entry.kind })}>{wordsOf(entry.kind)}</Chip>
            {entry.counts !== null && entry.record_id === null && (
              <Text size="sm">{text.counts(entry.counts.created, entry.counts.updated, entry.counts.deleted)}</Text>
            )}
          </>,
          <Group key="on" gap="xs">
            <Subject entry={entry} />
            {entry.order_id !== null && (
              <ActionIcon
                size="sm"
                variant="subtle"
                aria-label={`${text.only}: ${entry.name ?? entry.order_id}`}
                onClick={() => onFilter({ order_id: entry.order_id ?? '' })}
              >
                ⌕
              </ActionIcon>
            )}
          </Group>,
        ],
      }))}
    />
  );
}

function Chip({ children, onClick }: { readonly children: string; readonly onClick: () => void }) {
  return (
    <Button size="compact-sm" radius="xl" variant="default" fw={400} title={useText().activity.only} onClick={onClick}>
      <bdi>{children}</bdi>
    </Button>
  );
}

/** What the entry is about, by the name that it has now, as a link to it. */
export function Subject({ entry }: { readonly entry: Entry }) {
  const { orders } = useText();
  const tables = useQuery(assetTypesQuery).data ?? [];
  const { name, table, order_id: order, record_id: record, webhook_id: webhook } = entry;
  const { user_id: user, client_id: client } = entry;
  const label = tables.find((each) => each.name === table)?.label ?? table;
  const [to, what, id] =
    order !== null
      ? [`/orders/${order}`, orders.one, order]
      : table !== null && record !== null
        ? [`/tables/${table}/records/${record}`, label, record]
        : table !== null
          ? [`/tables/${table}`, label, '']
          : [webhook === null ? undefined : `/webhooks/${webhook}`, '', webhook ?? user ?? client ?? ''];
  const words = <bdi>{`${what} ${name ?? id.slice(0, 8)}`.trim()}</bdi>;
  return to === undefined ? (
    words
  ) : (
    <Anchor component={Link} to={to} size="sm">
      {words}
    </Anchor>
  );
}
