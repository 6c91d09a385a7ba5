/** Who did what, the newest first: filtered by the address, so that a link shows the same. */
import { Anchor, Select, Text, TextInput, type TextInputProps } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { assetTypesQuery } from '../api/queries';
import { FilterForm } from '../app/FilterForm';
import { useText, When } from '../app/language';
import { MomentInput } from '../app/MomentInput';
import { Empty, Loaded, More, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { usePages } from '../app/usePages';
import type { ActivitySearch } from '../routes';
import { ACTIVITY_KINDS, useKindWords } from './words';

export type Entry = Schemas['ActivityEntry'];

/** What the address says, as the API's parameters. */
const parametersOf = ({
  order,
  record,
  ...search
}: ActivitySearch): { readonly [name: string]: string | undefined } => ({
  ...search,
  order_id: order,
  record_id: record,
});

export function Activity() {
  const text = useText();
  const navigate = useNavigate();
  const search: ActivitySearch = getRouteApi('/activity').useSearch();
  const [typed, setTyped] = useState<ActivitySearch>(search);
  const tables = useQuery(assetTypesQuery).data ?? [];
  const wordsOf = useKindWords();
  const list = usePages(['activity', search], async (cursor) =>
    bodyOf(
      api.GET('/api/v1/platform/activity', {
        params: { query: { ...parametersOf(search), cursor, limit: 50 } as object },
      }),
    ),
  );
  const show = (next: ActivitySearch) => {
    setTyped(next);
    void navigate({
      to: '/activity',
      search: Object.fromEntries(
        Object.entries(next).filter(([, value]) => value !== undefined && value !== ''),
      ) as ActivitySearch,
      replace: true,
    });
  };
  const set = (name: keyof ActivitySearch) => (value: string | null) => setTyped({ ...typed, [name]: value ?? '' });
  const csv = new URLSearchParams(
    Object.entries(parametersOf(search)).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const field = (name: keyof ActivitySearch, label: string, more: TextInputProps & { 'data-search'?: true } = {}) => (
    <TextInput
      label={label}
      value={typed[name] ?? ''}
      onChange={({ currentTarget }) => set(name)(currentTarget.value)}
      {...more}
    />
  );
  return (
    <Page
      title={text.activity.title}
      actions={
        <Anchor href={`/api/v1/platform/activity.csv?${csv}`} download>
          {text.common.download}
        </Anchor>
      }
    >
      <FilterForm onSearch={() => show(typed)} onClear={() => show({})}>
        {field('actor', text.activity.actor, { 'data-search': true })}
        <Select
          label={text.activity.kind}
          searchable
          clearable
          data={ACTIVITY_KINDS.map((kind) => ({ value: kind, label: wordsOf(kind) }))}
          value={typed.kind ?? null}
          onChange={set('kind')}
        />
        <Select
          label={text.activity.table}
          searchable
          clearable
          data={tables.map(({ name, label }) => ({ value: name, label }))}
          value={typed.table ?? null}
          onChange={set('table')}
        />
        {field('order', text.activity.order)}
        {field('record', text.activity.record)}
        <MomentInput label={text.common.from} value={typed.from ?? ''} onChange={set('from')} />
        <MomentInput label={text.common.to} value={typed.to ?? ''} onChange={set('to')} />
      </FilterForm>
      <Loaded query={list}>
        {({ pages }) => {
          const entries = pages.flatMap(({ data }) => data);
          return entries.length === 0 ? (
            <Empty>{text.activity.none}</Empty>
          ) : (
            <Entries entries={entries} onActor={(actor) => show({ ...search, actor })} />
          );
        }}
      </Loaded>
      <More list={list} />
    </Page>
  );
}

function Entries({
  entries,
  onActor,
}: {
  readonly entries: readonly Entry[];
  readonly onActor: (actor: string) => void;
}) {
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
          <Anchor key="who" component="button" size="sm" ta="left" onClick={() => onActor(entry.actor.id)}>
            <bdi>{entry.actor.name ?? entry.actor.id}</bdi>
          </Anchor>,
          <>
            {wordsOf(entry.kind)}
            {entry.counts !== null && (
              <Text size="sm">{text.counts(entry.counts.created, entry.counts.updated, entry.counts.deleted)}</Text>
            )}
          </>,
          <Subject key="on" entry={entry} />,
        ],
      }))}
    />
  );
}

/** What the entry is about, as a link to it. */
export function Subject({ entry }: { readonly entry: Entry }) {
  const { orders, webhooks } = useText();
  const tables = useQuery(assetTypesQuery).data ?? [];
  const labelOf = (table: string): string => tables.find(({ name }) => name === table)?.label ?? table;
  const { table, order_id: order, record_id: record, webhook_id: webhook, user_id: user, client_id: client } = entry;
  if (order !== null) {
    return (
      <Link to="/orders/$orderId" params={{ orderId: order }}>
        {orders.one} {order.slice(0, 8)}
      </Link>
    );
  }
  if (table !== null && record !== null) {
    return (
      <Link to="/tables/$table/records/$recordId" params={{ table, recordId: record }}>
        {labelOf(table)} {record.slice(0, 8)}
      </Link>
    );
  }
  if (table !== null) {
    return (
      <Link to="/tables/$table" params={{ table }}>
        {labelOf(table)}
      </Link>
    );
  }
  if (webhook !== null) {
    return (
      <Link to="/webhooks/$webhookId" params={{ webhookId: webhook }}>
        {webhooks.one} {webhook.slice(0, 8)}
      </Link>
    );
  }
  return <>{user ?? client}</>;
}
