/** One record of any table, field by field, with what it refers to, now and as each of its changes left it. */
import { Alert, Badge, Group, Mark, Slider, Stack, Text, Timeline } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Navigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { useKindWords } from '../activity/words';
import { type AssetType, api, bodyOf, type Schemas } from '../api/client';
import { tableInfoQuery, usePages, useRoles } from '../api/queries';
import { Opens } from '../app/Dialogs';
import { localeOf, useLanguage, useText, When } from '../app/language';
import { Loaded, More, Page, Past, Section } from '../app/Page';
import { Facts, SYSTEM_FIELDS, titleOf, Value, valueText } from '../app/Rows';
import { Changed, TableLink, useLabels } from './Differences';
import { Undo } from './Operations';
import { DeleteRecord, RecordForm, readRecord, useReferences } from './RecordForm';

export function RecordPage() {
  const { table, recordId } = getRouteApi('/tables/$table/records/$recordId').useParams();
  const text = useText();
  const { isAdmin } = useRoles();
  const info = useQuery(tableInfoQuery(table));
  const record = useQuery({
    queryKey: ['records', table, 'one', recordId],
    queryFn: () => readRecord(table, recordId),
  });
  const [newest] = useHistory(table, recordId).data?.pages ?? [];
  const isOrder = info.data?.kind === 'master' && info.data.fields.some(({ name }) => name === 'processing_status');
  if (isOrder) return <Navigate to="/orders/$orderId" params={{ orderId: recordId }} replace />;
  return (
    <Loaded query={info}>
      {(type) => (
        <Loaded query={record}>
          {(read) => {
            const now = read?.record ?? null;
            const named: FieldValues = now ?? recordAt(null, newest?.data ?? [], 1) ?? {};
            const part = valueText(named.consignment_reference ?? named.line_number ?? recordId);
            return (
              <Page
                title={type.kind === 'master' ? [type.label, part] : titleOf({ ...named, id: recordId })}
                actions={
                  <>
                    <TableLink table={table} />
                    {isAdmin && type.kind === 'reference' && read !== null && (
                      <>
                        <DeleteRecord type={type} read={read} />
                        <Opens label={text.common.edit} variant="filled">
                          {(close) => <RecordForm type={type} read={read} onClose={close} />}
                        </Opens>
                      </>
                    )}
                  </>
                }
              >
                <RecordHistory key={recordId} type={type} recordId={recordId} now={now}>
                  {(record, change) =>
                    record === null ? (
                      <Alert color="orange">
                        <Group>
                          {text.tables.deletedThen}
                          {isAdmin && now === null && change?.kind === 'record.deleted' && (
                            <Undo
                              of={{ table: type.name, id: change.operation_id ?? '', name: text.tables.kind.deleted }}
                            />
                          )}
                        </Group>
                      </Alert>
                    ) : (
                      <Fields type={type} record={record} change={change} />
                    )
                  }
                </RecordHistory>
                {now !== null && (
                  <Text size="sm">
                    {text.common.created} <When at={String(now.created_at)} long /> · {text.common.changed}{' '}
                    <When at={String(now.updated_at)} long /> · <span className="mono">{now.id}</span>
                  </Text>
                )}
              </Page>
            );
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

type FieldsProps = {
  readonly type: AssetType;
  readonly record: { readonly [field: string]: unknown };
  readonly change: Change | undefined;
};

/** What the change has changed is marked, with the value before. */
function Fields({ type, record, change }: FieldsProps) {
  const text = useText().tables;
  const linkOf = useReferences(type, [record]);
  const shown = (name: string) => {
    const value = valueText(record[name]);
    const words = linkOf(name, value) ?? <Value>{record[name]}</Value>;
    const changed = change?.change === 'update' ? change.fields[name] : undefined;
    return (
      <>
        {changed === undefined ? words : <Mark>{words}</Mark>}
        {changed !== undefined && (
          <Text size="sm" span ml="xs">
            {text.was} <Value>{changed.from}</Value>
          </Text>
        )}
      </>
    );
  };
  const own = type.fields.filter(({ name }) => !SYSTEM_FIELDS.includes(name));
  const retired = type.retired.filter(({ name }) => valueText(record[name]) !== '');
  const all = [...own, ...retired.map((field) => ({ ...field, label: `${field.label} (${text.retired})` }))];
  return <Facts label={type.label} facts={all.map(({ name, label }) => [label, shown(name)])} />;
}

type Change = Schemas['RecordHistoryEntry'];
type FieldValues = { readonly [field: string]: unknown };

/**
 * The record as its `step`-th newest change left it: the later ones are taken back from what it is now.
 * @param now null: it is deleted
 * @returns null: the change deleted it
 */
function recordAt(now: FieldValues | null, changes: readonly Change[], step: number): FieldValues | null {
  let record = now;
  for (const { change, fields } of changes.slice(0, step)) {
    const before = Object.fromEntries(Object.entries(fields).map(([name, { from }]) => [name, from]));
    record = change === 'create' ? null : { ...record, ...before };
  }
  return record;
}

/** The last value of each field. Of retired ones, only the changes know them. */
const lastValues = (changes: readonly Change[]): FieldValues =>
  Object.fromEntries(
    [...changes].reverse().flatMap(({ fields }) => Object.entries(fields).map(([name, { to }]) => [name, to])),
  );

type HistoryProps = {
  readonly type: AssetType;
  readonly recordId: string;
  readonly now: FieldValues | null;
  /** Shows the record; `change` is the one that made it so. */
  readonly children: (record: FieldValues | null, change: Change | undefined) => ReactNode;
};

/** The history of an order is another one, on its own page. */
const useHistory = (table: string, recordId: string) =>
  usePages(['records', table, 'history', recordId], async (cursor) => {
    const params = { path: { table, asset_id: recordId }, query: { cursor } as object };
    const answer = await bodyOf(api.GET('/api/v1/platform/tables/{table}/assets/{asset_id}/history', { params }));
    return answer as { readonly data: readonly Change[]; readonly links: typeof answer.links };
  });

function RecordHistory({ type, recordId, now, children }: HistoryProps) {
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
  const show = (next: number) => {
    setStep(next);
    if (next === changes.length - 1 && hasNextPage) void fetchNextPage();
  };
  return (
    <Loaded query={history}>
      {() => (
        <Stack>
          {past !== undefined && <Past at={past} onNow={() => show(0)} />}
          {changes.length > 1 && <Steps table={table} changes={changes} step={step} onStep={show} />}
          <div className="beside">
            {children(
              recordAt(step === 0 ? now : now && { ...lastValues(changes), ...now }, changes, step),
              changes[step],
            )}
            <Section title={text.orders.history}>
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
            </Section>
          </div>
        </Stack>
      )}
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
        <Text component="div" size="sm" role="status">
          <Step table={table} change={change} />
        </Text>
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
