/** Lists of orders: those to validate, those the ERP refused or did not get, and the archive. */
import { Alert, Button, Group, List, Modal, Select, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, api, bodyOf, type OrderRow } from '../api/client';
import { type Column, Cut, DataTable, Pages } from '../app/DataTable';
import { Age, useText, When } from '../app/language';
import { Empty, Loaded, Page, Problem } from '../app/Page';
import { SearchField } from '../app/SearchField';
import { useRoles } from '../app/useRoles';
import { useWatched } from '../app/useWatched';
import type { OrdersSearch } from '../routes';
import { StatusBadge } from './StatusBadge';

type Queue = {
  readonly path: '/orders' | '/refused' | '/archive';
  readonly states: readonly OrderRow['processing_status'][];
};
export const TO_VALIDATE: Queue = {
  path: '/orders',
  states: ['pending_validation', 'saved', 'validated'],
};
const REFUSED: Queue = { path: '/refused', states: ['submit_failed', 'failed'] };
const ARCHIVE: Queue = { path: '/archive', states: ['submitted', 'completed', 'rejected'] };

export const ToValidate = () => <OrderList queue={TO_VALIDATE} />;
export const Refused = () => <OrderList queue={REFUSED} />;
export const Archive = () => <OrderList queue={ARCHIVE} />;

const PAGE_SIZE = 25;

/** What the address says, as the API's parameters. */
export function orderListParameters(queue: Queue, search: OrdersSearch): object {
  return {
    perPage: PAGE_SIZE,
    page: search.page,
    search: search.text,
    sort: search.sort ?? (queue === ARCHIVE ? '-updated_at' : 'created_at'),
    'filter[processing_status][in]': search.state ?? queue.states.join(','),
  };
}

function OrderList({ queue }: { readonly queue: Queue }) {
  const text = useText();
  const navigate = useNavigate();
  const search: OrdersSearch = getRouteApi(queue.path).useSearch();
  const { isValidator: mayApprove } = useRoles();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const list = useWatched(['orders', queue.path, search], async () =>
    bodyOf(api.GET('/api/v1/platform/orders', { params: { query: orderListParameters(queue, search) } })),
  );
  const change = (more: Partial<OrdersSearch>) => {
    setSelected(new Set());
    void navigate({ to: queue.path, search: { ...search, page: undefined, ...more } as OrdersSearch, replace: true });
  };
  const isFiltered = search.text !== undefined || search.state !== undefined;
  const title =
    queue === TO_VALIDATE ? text.menu.toValidate : queue === REFUSED ? text.menu.refused : text.menu.archive;
  const none =
    queue === TO_VALIDATE ? text.orders.none : queue === REFUSED ? text.orders.noneRefused : text.orders.noneArchived;
  return (
    <Page
      title={title}
      actions={mayApprove && queue !== ARCHIVE && <ApproveSelected ids={selected} onDone={setSelected} />}
    >
      <Group>
        <SearchField
          label={text.orders.search}
          value={search.text ?? ''}
          onSearch={(value) => change({ text: value === '' ? undefined : value } as Partial<OrdersSearch>)}
        />
        <Select
          aria-label={text.common.status}
          placeholder={text.common.all}
          clearable
          value={search.state ?? null}
          data={queue.states.flatMap((state) => (state === null ? [] : [{ value: state, label: text.status[state] }]))}
          onChange={(state) => change({ state: state ?? undefined } as Partial<OrdersSearch>)}
        />
      </Group>
      {list.isOutOfDate && (
        <Alert role="status" p="xs">
          <Group justify="space-between">
            <Text size="sm">{text.common.outOfDate}</Text>
            <Button size="compact-sm" onClick={list.showNew}>
              {text.common.showNew}
            </Button>
          </Group>
        </Alert>
      )}
      <Loaded query={list}>
        {({ data: rows, meta }) =>
          rows.length === 0 ? (
            <Empty
              action={
                isFiltered && (
                  <Button variant="default" onClick={() => change({ text: undefined, state: undefined } as never)}>
                    {text.common.clearFilters}
                  </Button>
                )
              }
            >
              {isFiltered ? text.common.noMatch : none}
            </Empty>
          ) : (
            <>
              <Orders
                queue={queue}
                rows={rows}
                sort={search.sort}
                onSort={(sort) => change({ sort })}
                {...(mayApprove && queue !== ARCHIVE ? { selected, onSelect: setSelected } : {})}
              />
              <Pages meta={meta} onPage={(page) => change({ page })} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

type OrdersProps = {
  readonly queue: Queue;
  readonly rows: readonly OrderRow[];
  readonly sort: string | undefined;
  readonly onSort: (sort: string) => void;
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (ids: ReadonlySet<string>) => void;
};

function Orders({ queue, rows, sort, onSort, selected, onSelect }: OrdersProps) {
  const { orders, common } = useText();
  const navigate = useNavigate();
  const columns: readonly Column<OrderRow>[] = [
    {
      id: 'customer',
      label: orders.customer,
      sort: 'buyer_customer_party_id',
      cell: (order) => (
        <Link to="/orders/$orderId" params={{ orderId: order.id }} onClick={(event) => event.stopPropagation()}>
          <Cut>{order.customer ?? order.buyer_customer_party_id ?? order.id.slice(0, 8)}</Cut>
        </Link>
      ),
    },
    {
      id: 'reference',
      label: orders.reference,
      sort: 'customer_reference',
      cell: (order) => <Cut>{order.customer_reference}</Cut>,
    },
    {
      id: 'state',
      label: common.status,
      sort: 'processing_status',
      cell: (order) => <StatusBadge status={order.processing_status} />,
    },
    { id: 'issued', label: orders.issued, sort: 'issue_date', cell: ({ issue_date }) => issue_date },
    { id: 'delivery', label: orders.delivery, sort: 'delivery_date', cell: ({ delivery_date }) => delivery_date },
    {
      id: 'reasons',
      label: orders.reasons,
      isHidden: queue !== REFUSED,
      cell: ({ error_reason }) => <Cut>{error_reason?.join(' · ')}</Cut>,
    },
    {
      id: 'accuracy',
      label: orders.accuracy,
      isNumber: true,
      cell: ({ accuracy }) => (accuracy === null ? '' : `${Math.round(accuracy * (accuracy <= 1 ? 100 : 1))} %`),
    },
    {
      id: 'age',
      label: queue === ARCHIVE ? orders.approvedAt : orders.age,
      sort: queue === ARCHIVE ? 'approved_at' : 'created_at',
      isNumber: true,
      cell: ({ created_at, approved_at }) =>
        queue === ARCHIVE ? <When at={approved_at} /> : <Age since={created_at} />,
    },
    { id: 'number', label: orders.one, isHidden: true, cell: ({ id }) => <span className="mono">{id}</span> },
  ];
  return (
    <DataTable
      name={`orders${queue.path}`}
      label={orders.one}
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/orders/$orderId', params: { orderId: id } })}
      sorted={{ by: sort, onSort }}
      {...(selected === undefined || onSelect === undefined ? {} : { selected: { ids: selected, onSelect } })}
    />
  );
}

type ApproveSelectedProps = {
  readonly ids: ReadonlySet<string>;
  /** Given those that were not approved. */
  readonly onDone: (left: ReadonlySet<string>) => void;
};

type Outcome = { readonly id: string; readonly refused: string | undefined };

/** Why the order is not approved; undefined if it is. */
async function approveOne(id: string): Promise<string | undefined> {
  try {
    await bodyOf(
      api.POST('/api/v1/platform/orders/{order_id}/approve', { params: { path: { order_id: id } }, body: {} }),
    );
    return undefined;
  } catch (error) {
    // Other errors are not about this order: they are shown as they are.
    if (!(error instanceof ApiError) || ![404, 409, 422].includes(error.status)) throw error;
    return [error.message, ...Object.values(error.fields).flat()].join(' ');
  }
}

/** Approves many, and says of each that was not approved why. */
function ApproveSelected({ ids, onDone }: ApproveSelectedProps) {
  const text = useText();
  const client = useQueryClient();
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const approve = useMutation({
    mutationFn: async () => {
      const all: Outcome[] = [];
      for (const id of ids) all.push({ id, refused: await approveOne(id) });
      return all;
    },
    onSuccess: (all) => {
      setOutcomes(all);
      onDone(new Set(all.filter(({ refused }) => refused !== undefined).map(({ id }) => id)));
      return client.invalidateQueries({ queryKey: ['orders'] });
    },
  });
  const refused = outcomes.filter((outcome) => outcome.refused !== undefined);
  return (
    <>
      <Button disabled={ids.size === 0} loading={approve.isPending} onClick={() => approve.mutate()}>
        {text.orders.approveSelected(ids.size)}
      </Button>
      <Modal
        opened={outcomes.length > 0 || approve.error !== null}
        onClose={() => {
          setOutcomes([]);
          approve.reset();
        }}
        title={text.orders.approveSelected(outcomes.length)}
      >
        {approve.error !== null && <Problem error={approve.error} />}
        <Text>{text.orders.approvedCount(outcomes.length - refused.length)}</Text>
        {refused.length > 0 && (
          <>
            <Text mt="sm">{text.orders.notApproved(refused.length)}</Text>
            <List size="sm">
              {refused.map((outcome) => (
                <List.Item key={outcome.id}>
                  <Link to="/orders/$orderId" params={{ orderId: outcome.id }}>
                    {outcome.id.slice(0, 8)}
                  </Link>{' '}
                  {outcome.refused}
                </List.Item>
              ))}
            </List>
          </>
        )}
      </Modal>
    </>
  );
}
