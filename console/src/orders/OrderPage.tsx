/** One order: its fields and lines as a form, the problems beside what they concern, and what a clerk does with it. */
import { Button, Grid, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useBlocker, useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { ApiError, type AssetField, type AssetType, api, bodyOf, type Order } from '../api/client';
import { tableInfoQuery, tenantQuery, useRoles } from '../api/queries';
import { useKeys } from '../app/keys';
import { useNumber, useText } from '../app/language';
import { Loaded, Page, Problem } from '../app/Page';
import { isToBeApproved, namesOf, useApproveLater } from './approveLater';
import { Decision } from './Decisions';
import {
  type Both,
  bodyOfDraft,
  type Draft,
  type Fields,
  isChanged,
  mergeDraft,
  NO_DRAFT,
  referenceOf,
  SET_BY_OTHERS,
  withChoice,
  withField,
  writableFields,
  writtenOf,
} from './draft';
import { DeliveryDate, Facts, OpenBy, StatusBadge } from './Facts';
import { FieldInput } from './FieldInput';
import { namesOfParts, OrderHistory } from './OrderHistory';
import { PartsGrid } from './PartsGrid';
import { Conflict, Notes, useMessages } from './Problems';
import { nextOrder, type OrderSearch, orderQuery, queueOf, type Read, readOrder, readPageOf } from './queue';

/** What a clerk looks at first, from the last on. */
const FIRST = ['customer_reference', 'delivery_date', 'buyer_customer_party_id'];
/** What the order was made of, by the platform's id. */
const SOURCE = 'order_inquiry_id';

export function OrderPage() {
  const { orderId } = getRouteApi('/orders/$orderId').useParams();
  const tenant = useQuery(tenantQuery);
  const model = tenant.data?.order_model ?? 'dyn_stock_order';
  const info = useQuery({ ...tableInfoQuery(model), enabled: tenant.data !== undefined });
  const read = useQuery({
    ...orderQuery(orderId),
    // A form must not change under the person who fills it in.
    refetchOnWindowFocus: false,
    staleTime: 0,
  });
  return (
    <Loaded query={info}>
      {(orderType) => (
        <Loaded query={read}>{(of) => <OrderForm key={orderId} orderType={orderType} read={of} />}</Loaded>
      )}
    </Loaded>
  );
}

function OrderForm({ orderType, read }: { readonly orderType: AssetType; readonly read: Read }) {
  const text = useText();
  const client = useQueryClient();
  const approveLater = useApproveLater();
  const { order, tag } = read;
  const { next, place } = useNeighbours(order.id);
  const [draft, setDraft] = useState<Draft>(NO_DRAFT);
  /** Since a save that others' changes were in the way of. */
  const [both, setBoth] = useState<readonly Both[] | undefined>();
  const { isValidator } = useRoles();
  const may = (action: Order['actions'][number]) => isValidator && order.actions.includes(action);
  const hasChanged = isChanged(draft);
  const setBack = () => {
    setDraft(NO_DRAFT);
    setBoth(undefined);
  };
  const save = useMutation({
    mutationFn: async ({ status, sent }: { status: 'saved' | 'validated'; sent: Draft }) => {
      const headers = tag === null ? {} : { 'If-Match': tag };
      const hasParts = Object.keys(sent.parts).length > 0;
      const body = bodyOfDraft(sent, hasParts ? (await writtenOf(client, orderType)).lists : {});
      await bodyOf(
        api.PUT('/api/v1/platform/orders/{order_id}', {
          params: { path: { order_id: order.id } },
          headers,
          body: { ...body, processing_status: status } as object,
        }),
      );
    },
    onSuccess: async () => {
      setBack();
      await client.invalidateQueries({ queryKey: ['orders'] });
    },
    onError: (error) => (isConflict(error) ? takeIn() : undefined),
  });
  const saveAs = (status: 'saved' | 'validated') =>
    save.mutate({ status, sent: draft }, { onSuccess: () => notifications.show({ message: text.orders.saved }) });
  const approve = useMutation({
    mutationFn: async () => {
      if (hasChanged || !may('approve')) await save.mutateAsync({ status: 'validated', sent: draft });
      // What has problems now is shown with them, and asks for a reason.
      const { order: now } = await client.fetchQuery(orderQuery(order.id));
      if (now.problems.length > 0) return;
      approveLater(now);
      await next();
    },
  });
  const takeIn = async () => {
    const theirs = await readOrder(order.id);
    const merged = mergeDraft(draft, order, theirs.order);
    client.setQueryData(orderQuery(order.id).queryKey, theirs);
    setDraft(merged.draft);
    setBoth(merged.both);
  };
  useBlocker({
    shouldBlockFn: () => hasChanged && !window.confirm(text.common.unsaved),
    enableBeforeUnload: hasChanged,
  });
  useKeys({
    'mod+s': () => may('save') && saveAs('saved'),
    n: () => void next(),
    ...(may('save') ? { v: () => saveAs('validated') } : {}),
  });

  const names = useMemo(() => namesOfParts(order), [order]);
  const setField = useCallback(
    (to: unknown, name: string) => setDraft((present) => withField(present, order, name, to)),
    [order],
  );
  const { now, problems, errors } = useMessages(order, draft, save.error, save.variables?.sent ?? NO_DRAFT);
  const parts = orderType.relationships.filter(({ kind }) => kind === 'has_many');
  const written = writableFields(orderType, 'id').filter(({ name }) => !SET_BY_OTHERS.includes(name));
  const fields = written
    .filter(({ name }) => name !== SOURCE)
    .toSorted((one, other) => FIRST.indexOf(other.name) - FIRST.indexOf(one.name));
  // As it was opened: a field must not move while it is filled in.
  const [folded] = useState(() => new Set(fields.filter((field) => isEmpty(field, order)).map(({ name }) => name)));

  const input = (field: AssetField) => (
    <div key={field.name} data-field={field.name}>
      <FieldInput
        field={field}
        reference={referenceOf(orderType, field)}
        value={now[field.name]}
        of={order}
        onChange={setField}
        error={errors.get(field.name)}
        isDisabled={!may('save') || field.name === SOURCE}
      />
      {field.name === 'delivery_date' && <DeliveryDate date={String(now.delivery_date)} of={order} isBeside />}
    </div>
  );

  return (
    <Page
      title={namesOf(order)}
      actions={
        <>
          {may('save') && (
            <>
              {hasChanged && (
                <Button variant="subtle" onClick={() => [setBack(), save.reset()]}>
                  {text.common.cancel}
                </Button>
              )}
              <Button variant="default" disabled={!hasChanged} loading={save.isPending} onClick={() => saveAs('saved')}>
                {text.common.save}
              </Button>
              <Button variant="default" loading={save.isPending} onClick={() => saveAs('validated')}>
                {text.orders.markValidated}
              </Button>
            </>
          )}
          {may('reject') && <Decision order={order} action="reject" onDone={next} />}
          {(may('approve') || may('save')) && (
            <Decision
              order={order}
              action="approve"
              onDone={next}
              isPending={approve.isPending}
              onSimple={may('approve') && !hasChanged && order.problems.length > 0 ? undefined : () => approve.mutate()}
            />
          )}
          <Button variant="subtle" px="xs" onClick={() => void next()}>
            {text.keys.rows.n}
          </Button>
          {place}
        </>
      }
    >
      <Group gap="md">
        <StatusBadge status={order.processing_status} />
        <OpenBy id={order.id} isHere={may('save')} />
        <Facts order={order} />
      </Group>
      {both !== undefined && (
        <Conflict
          both={both}
          now={now}
          names={names}
          table={orderType.name}
          onChoose={(each, value) => setDraft((present) => withChoice(present, order, each, value))}
        />
      )}
      {save.error !== null && !(both !== undefined && isConflict(save.error)) && <Problem error={save.error} />}
      {approve.error !== null && approve.error !== save.error && <Problem error={approve.error} />}
      <Notes reasons={order.error_reason ?? []} problems={problems} />
      <Grid>
        <Grid.Col span={{ base: 12, xl: 9 }}>
          <Stack>
            <Paper withBorder p="md">
              <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }}>
                {fields.filter(({ name }) => !folded.has(name)).map(input)}
              </SimpleGrid>
              {folded.size > 0 && (
                <details open={[...errors.keys()].some((path) => folded.has(path))}>
                  <summary>{text.orders.emptyFields(folded.size)}</summary>
                  <SimpleGrid mt="xs" cols={{ base: 1, sm: 2, md: 3 }}>
                    {fields.filter(({ name }) => folded.has(name)).map(input)}
                  </SimpleGrid>
                </details>
              )}
            </Paper>
            {parts.map((relationship) => (
              <PartsGrid
                key={relationship.name}
                relationship={relationship}
                order={order}
                draft={draft}
                onChange={setDraft}
                errors={errors}
                isDisabled={!may('save')}
              />
            ))}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, xl: 3 }}>
          {written.filter(({ name }) => name === SOURCE && order[name]).map(input)}
          <OrderHistory order={order} type={orderType} names={names} />
        </Grid.Col>
      </Grid>
    </Page>
  );
}

/** Notes and dates are filled in often; other fields without a value are out of the way. */
const isEmpty = ({ name, type, required }: AssetField, order: Fields): boolean =>
  !required && !FIRST.includes(name) && type !== 'LongText' && type !== 'Date' && (order[name] ?? '') === '';

/** The way to the next order of the list that this one was opened in, and where it is. */
function useNeighbours(id: string) {
  const text = useText();
  const number = useNumber();
  const navigate = useNavigate();
  const search: OrderSearch = getRouteApi('/orders/$orderId').useSearch();
  const around = useQuery({
    queryKey: ['orders', 'around', search],
    queryFn: () => readPageOf(search, search.place ?? 0),
  });
  const { rows = [], first = 0, total = 0 } = around.data ?? {};
  const row = rows.findIndex((each) => each.id === id);
  const next = async (): Promise<void> => {
    // The list itself says what is wrong with it.
    const found = await nextOrder(search, id, isToBeApproved).catch(() => undefined);
    await navigate(
      found === undefined
        ? { to: queueOf(search).path }
        : { to: '/orders/$orderId', params: { orderId: found.id }, search: { ...search, place: found.place } },
    );
  };
  const place = row < 0 ? null : <Text size="sm">{text.orders.place(number(first + row + 1), number(total))}</Text>;
  return { next, place };
}

const isConflict = (error: Error): boolean => error instanceof ApiError && error.status === 412;
