/** Who did what, the newest first: filtered by the address, so that a link shows the same. */
import { Button, Group, Input, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { api, bodyOf } from '../api/client';
import { assetTypesQuery, usePages } from '../api/queries';
import { DateInput } from '../app/DateInput';
import { Act } from '../app/Dialogs';
import { useText } from '../app/language';
import { Listed, Page } from '../app/Page';
import { SearchField } from '../app/SearchField';
import { OrderField } from '../orders/FieldInput';
import type { ActivitySearch } from '../routes';
import { Entries } from './ActivityEntry';
import { ACTIVITY_KINDS, useKindWords } from './words';

export function Activity() {
  const text = useText();
  const navigate = useNavigate();
  const search: ActivitySearch = getRouteApi('/activity').useSearch();
  const tables = useQuery(assetTypesQuery).data?.map(({ name, label }) => ({ value: name, label })) ?? [];
  const wordsOf = useKindWords();
  const list = usePages(['activity', search], async (cursor) =>
    bodyOf(api.GET('/api/v1/platform/activity', { params: { query: { ...search, cursor, limit: 50 } as object } })),
  );
  const show = (next: ActivitySearch) => void navigate({ to: '/activity', search: next, replace: true });
  const set = (name: keyof ActivitySearch) => (value: string | null) => {
    const { [name]: _, ...others } = search;
    show(value === null || value === '' ? others : { ...others, [name]: value });
  };
  const kinds = ACTIVITY_KINDS.map((kind) => ({ value: kind, label: wordsOf(kind) }));
  const choices = [
    { name: 'kind', label: text.activity.kind, data: kinds },
    { name: 'table', label: text.tables.one, data: tables },
  ] as const;
  const file = `/api/v1/platform/activity.csv?${new URLSearchParams(search)}`;
  const actions = (
    <>
      {Object.keys(search).length > 0 && <Act label={text.common.clearFilters} act={async () => show({})} />}
      <Button component="a" href={file} download size="xs" variant="default">
        {text.common.download}
      </Button>
    </>
  );
  return (
    <Page title={text.activity.title} actions={actions}>
      <Group component="form" gap="xs" align="flex-end">
        <Input.Wrapper label={text.activity.who} labelElement="div" miw={0}>
          <SearchField w="100%" label={text.activity.actor} value={search.actor ?? ''} onSearch={set('actor')} />
        </Input.Wrapper>
        {choices.map(({ name, ...more }) => (
          <Select key={name} {...more} searchable clearable value={search[name] ?? null} onChange={set(name)} />
        ))}
        <OrderField label={text.orders.one} value={search.order_id} onChange={set('order_id')} />
        <DateInput isMoment isFilter label={text.common.from} value={search.from ?? ''} onChange={set('from')} />
        <DateInput isMoment isFilter label={text.common.to} value={search.to ?? ''} onChange={set('to')} />
      </Group>
      <Listed list={list} none={text.activity.none}>
        {(entries) => <Entries entries={entries} onFilter={(more) => show({ ...search, ...more })} />}
      </Listed>
    </Page>
  );
}
