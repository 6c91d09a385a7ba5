/** What differs in a table between two moments. */
import { Button, Group } from '@mantine/core';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type AnswerOf, api, bodyOf } from '../api/client';
import { usePages } from '../api/queries';
import { DateInput } from '../app/DateInput';
import { useText, When } from '../app/language';
import { Empty, Listed, Page, Past } from '../app/Page';
import { titleOf, valueText } from '../app/Rows';
import type { CompareSearch } from '../routes';
import { Differences, TableLink, useLabels } from './Differences';

export function Compare() {
  const { table } = getRouteApi('/tables/$table/compare').useParams();
  const text = useText();
  const labelOf = useLabels();
  const range: CompareSearch = getRouteApi('/tables/$table/compare').useSearch();
  const navigate = useNavigate();
  const isPosition = /^\d+$/.test(range.from ?? '');
  const [from, setFrom] = useState((!isPosition && range.from) || '');
  const [to, setTo] = useState(range.to ?? '');
  const show = (search: CompareSearch) =>
    void navigate({ to: '/tables/$table/compare', params: { table }, search, replace: true });
  const read = (cursor: string | undefined) => {
    const params = { path: { table }, query: { ...range, cursor } } as never;
    return bodyOf(api.GET('/api/v1/platform/tables/{table}/compare', { params })) as Promise<ComparedPage>;
  };
  const compared = usePages(['compare', table, range], read, { enabled: range.from !== undefined });
  return (
    <Page title={`${labelOf(table)}: ${text.tables.compare}`} actions={<TableLink table={table} />}>
      <Group
        component="form"
        align="flex-end"
        onSubmit={(event) => {
          event.preventDefault();
          show({ from, to: to === '' ? new Date().toISOString() : to });
        }}
      >
        <DateInput isMoment required label={text.common.from} value={from} onChange={setFrom} />
        <DateInput isMoment label={`${text.common.to} (${text.tables.now})`} value={to} onChange={setTo} />
        <Button type="submit">{text.tables.compareDo}</Button>
      </Group>
      {range.from === undefined || range.to === undefined ? (
        <Empty>{text.tables.compareWhy}</Empty>
      ) : (
        <>
          <Past
            from={isPosition ? text.tables.justBefore : <When key="from" at={range.from} long />}
            at={range.to}
            onNow={() => show({})}
          />
          <Listed list={compared} none={text.tables.noDifferences}>
            {(differences) => <Differences table={table} differences={differences.map(differenceOf)} />}
          </Listed>
        </>
      )}
    </Page>
  );
}

type ComparedPage = AnswerOf<'platformCompareMoments'>;
type Values = { readonly [field: string]: unknown };

const CHANGES = { created: 'create', changed: 'update', deleted: 'delete' } as const;

/** What was created or deleted is named; what has changed is shown field by field. */
function differenceOf({ id, change, before, after }: ComparedPage['data'][number]) {
  const [was, is]: readonly [Values, Values] = [before ?? {}, after ?? {}];
  const names = change === 'changed' ? [...new Set([...Object.keys(was), ...Object.keys(is)])] : [];
  const fields = names
    .filter((name) => name !== 'updated_at' && valueText(was[name]) !== valueText(is[name]))
    .map((name) => [name, { from: was[name], to: is[name] }]);
  const key = titleOf({ id, ...was, ...is });
  return { change: CHANGES[change], key, fields: Object.fromEntries(fields) };
}
