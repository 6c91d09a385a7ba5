/** A record through time: a slider over its changes, the record as each of them left it, and all of them below. */
import { Badge, Group, Slider, Stack, Timeline, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { useKindWords } from '../activity/words';
import { type AssetType, api, bodyOf, type Schemas } from '../api/client';
import { localeOf, useLanguage, useText, When } from '../app/language';
import { Loaded, More, Past } from '../app/Page';
import { usePages } from '../app/usePages';
import { Changed, useLabels } from './Differences';

export type Change = Schemas['RecordHistoryEntry'];
type Fields = { readonly [field: string]: unknown };

/**
 * The record as its `step`-th newest change left it: the later ones are taken back from what it is now.
 * @param now null: it is deleted
 * @returns null: the change deleted it
 */
export function recordAt(now: Fields | null, changes: readonly Change[], step: number): Fields | null {
  let record = now;
  for (const { change, fields } of changes.slice(0, step)) {
    const before = Object.fromEntries(Object.entries(fields).map(([name, { from }]) => [name, from]));
    record = change === 'create' ? null : { ...record, ...before };
  }
  return record;
}

/** The last value of each field. Of retired ones, only the changes know them. */
const lastValues = (changes: readonly Change[]): Fields =>
  Object.fromEntries(
    [...changes].reverse().flatMap(({ fields }) => Object.entries(fields).map(([name, { to }]) => [name, to])),
  );

type Props = {
  readonly type: AssetType;
  readonly recordId: string;
  readonly now: Fields | null;
  /** Shows the record; `change` is the one that made it so. */
  readonly children: (record: Fields | null, change: Change | undefined) => ReactNode;
};

/** The history of an order is another one, on its own page. */
export const useHistory = (table: string, recordId: string) =>
  usePages(['records', table, 'history', recordId], async (cursor) => {
    const params = { path: { table, asset_id: recordId }, query: { cursor } as object };
    const answer = await bodyOf(api.GET('/api/v1/platform/tables/{table}/assets/{asset_id}/history', { params }));
    return answer as { readonly data: readonly Change[]; readonly links: typeof answer.links };
  });

export function RecordHistory({ type, recordId, now, children }: Props) {
  const text = useText();
  const { name: table } = type;
  const labelOf = useLabels();
  const { at } = getRouteApi('/tables/$table/records/$recordId').useSearch();
  const [chosen, setStep] = useState<number>();
  const history = useHistory(table, recordId);
  const changes = history.data?.pages.flatMap(({ data }) => data) ?? [];
  // Opened from a list of the past, it begins with what it was then.
  const ofThen = at === undefined ? 0 : changes.findIndex(({ occurred_at }) => occurred_at <= at);
  const step = chosen ?? Math.max(0, ofThen);
  const { hasNextPage, isFetching, fetchNextPage } = history;
  useEffect(() => {
    if (ofThen < 0 && hasNextPage && !isFetching) void fetchNextPage();
  }, [ofThen, hasNextPage, isFetching, fetchNextPage]);
  const past = chosen === undefined && at !== undefined ? at : step > 0 ? changes[step]?.occurred_at : undefined;
  return (
    <Loaded query={history}>
      {() => {
        const show = (next: number) => {
          setStep(next);
          if (next === changes.length - 1 && hasNextPage) void fetchNextPage();
        };
        return (
          <Stack>
            {past !== undefined && <Past at={past} onNow={() => show(0)} />}
            {changes.length > 1 && <Steps table={table} changes={changes} step={step} onStep={show} />}
            {children(
              recordAt(step === 0 ? now : now && { ...lastValues(changes), ...now }, changes, step),
              changes[step],
            )}
            <Title order={2}>{text.orders.history}</Title>
            <Timeline bulletSize={12} lineWidth={2} active={changes.length}>
              {changes.map((change) => (
                <Timeline.Item key={`${change.id} ${change.change}`}>
                  <Step table={table} change={change} />
                  <details>
                    <summary>{text.orders.changes(Object.keys(change.fields).length)}</summary>
                    {Object.entries(change.fields).map(([field, { from, to }]) => (
                      <Changed key={field} label={labelOf(field, table)} from={from} to={to} />
                    ))}
                  </details>
                </Timeline.Item>
              ))}
            </Timeline>
            <More list={history} />
          </Stack>
        );
      }}
    </Loaded>
  );
}

type StepsProps = {
  readonly table: string;
  readonly changes: readonly Change[];
  readonly step: number;
  readonly onStep: (step: number) => void;
};

/** Left is earlier. The arrow keys move it, too. */
function Steps({ table, changes, step, onStep }: StepsProps) {
  const { text, language } = useLanguage();
  const last = changes.length - 1;
  const momentOf = (at: number) => new Date(changes[last - at]?.occurred_at ?? 0).toLocaleString(localeOf(language));
  const change = changes[step];
  return (
    <Stack gap="xs">
      <Slider
        min={0}
        max={last}
        value={last - step}
        onChange={(at) => onStep(last - at)}
        label={null}
        thumbLabel={text.tables.moment}
        thumbProps={{ 'aria-valuetext': momentOf(last - step) }}
      />
      {change !== undefined && (
        <div role="status">
          <Step table={table} change={change} />
        </div>
      )}
    </Stack>
  );
}

/** What was done to it, when and by whom. */
function Step({ table, change }: { readonly table: string; readonly change: Change }) {
  const { orders, tables } = useText();
  const wordsOf = useKindWords();
  return (
    <Group gap="xs" component="span">
      <Badge>{tables.changes[change.change]}</Badge>
      <When at={change.occurred_at} /> <bdi>{orders.whoChanged(change.actor.name ?? change.actor.id)}</bdi>
      {change.operation_id !== null && (
        <Link to="/tables/$table/operations" params={{ table }}>
          {wordsOf(change.kind)}
        </Link>
      )}
    </Group>
  );
}
