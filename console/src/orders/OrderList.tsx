/** Lists of orders: those to validate, those the ERP refused or did not get, and the archive. */
import { Badge, Button, Group, Text } from '@mantine/core';
import { type QueryKey, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type OrderRow, reasonInWords } from '../api/client';
import { useRoles } from '../api/queries';
import { type Column, DataTable, Pages, useColumns } from '../app/DataTable';
import { useText, When, type Text as Words } from '../app/language';
import { Empty, Loaded, Page } from '../app/Page';
import { Cut } from '../app/Rows';
import type { OrdersSearch } from '../routes';
import { Bulk } from './Decisions';
import { accuracyText, DeliveryDate, OpenBy, StatusBadge } from './Facts';
import { Filters, isFiltered, Views } from './Filters';
import { ARCHIVE, type OrderSearch, placeOf, type Queue, REFUSED, readQueue, TO_VALIDATE } from './queue';

export const ToValidate = () => <OrderList queue={TO_VALIDATE} />;
export const Refused = () => <OrderList queue={REFUSED} />;
export const Archive = () => <OrderList queue={ARCHIVE} />;

function OrderList({ queue }: { readonly queue: Queue }) {
  const text = useText();
  const navigate = useNavigate();
  const search: OrdersSearch = getRouteApi(queue.path).useSearch();
  const { isValidator } = useRoles();
  const mayDecide = isValidator && queue !== ARCHIVE;
  const [selected, setSelected] = useState<ReadonlyMap<string, OrderRow>>(new Map());
  const list = useWatched(['orders', queue.path, search], () => readQueue(queue, search));
  const selectAll = useMutation({ mutationFn: () => readAll(queue, search), onSuccess: setSelected });
  const show = (shown: OrdersSearch) => {
    setSelected(new Map());
    void navigate({ to: queue.path, search: shown, replace: true });
  };
  const select = (ids: ReadonlySet<string>) =>
    setSelected(byId([...selected.values(), ...(list.data?.data ?? [])].filter(({ id }) => ids.has(id))));
  const linkTo: LinkTo = (order) => ({
    to: '/orders/$orderId',
    params: { orderId: order.id },
    search: placeOf(queue, search, list.data?.data.indexOf(order) ?? 0),
  });
  const [columns, choice] = useColumns(`orders${queue.path}`, columnsOf(queue, text, linkTo));
  const showFirst = ({ page: _, ...shown }: OrdersSearch) => show(shown);
  const { menu, orders, status } = text;
  const words = {
    '/orders': [menu.toValidate, orders.none],
    '/refused': [status.submit_failed, orders.noneRefused],
    '/archive': [menu.archive, orders.noneArchived],
  } as const;
  const [title, none] = words[queue.path];
  const other = queue === TO_VALIDATE ? REFUSED : TO_VALIDATE;
  return (
    <Page
      title={title}
      actions={mayDecide && <Bulk orders={[...selected.values()]} onDone={(left) => setSelected(byId(left))} />}
    >
      <Group justify="space-between">
        <Views queue={queue} search={search} onChange={showFirst} />
        <div role="status">
          {list.isOutOfDate && (
            <Button size="compact-sm" radius="xl" onClick={list.showNew}>
              {text.orders.newOnes((list.newest?.meta.total ?? 0) - (list.data?.meta.total ?? 0))}
            </Button>
          )}
        </div>
        {choice}
      </Group>
      <Filters
        queue={queue}
        search={search}
        onChange={showFirst}
        customerName={search.customer === undefined ? null : (list.data?.data[0]?.customer ?? null)}
      />
      <Loaded query={list}>
        {({ data: rows, meta }) =>
          rows.length === 0 ? (
            <Empty action={!isFiltered(search) && <Link to={other.path}>{words[other.path][0]}</Link>}>
              {isFiltered(search) ? text.common.noMatch : none}
            </Empty>
          ) : (
            <>
              {selected.size >= rows.length && selected.size < meta.total && (
                <Button variant="subtle" loading={selectAll.isPending} onClick={() => selectAll.mutate()}>
                  {text.orders.selectWhole(meta.total)}
                </Button>
              )}
              <DataTable
                label={text.orders.one}
                columns={columns}
                rows={rows}
                rowId={({ id }) => id}
                onOpen={(order) => void navigate(linkTo(order))}
                sorted={{ by: search.sort, onSort: (sort) => showFirst({ ...search, sort }) }}
                {...(mayDecide ? { selected: { ids: new Set(selected.keys()), onSelect: select } } : {})}
              />
              <Pages meta={meta} onPage={(page) => show({ ...search, page })} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

const WATCHED_EACH_MS = 10_000;

/**
 * A list that stays as it is shown until the person asks for what is new.
 * @param read asked once for what is shown, and then every ten seconds for whether that is out of date
 */
function useWatched<T extends object>(key: QueryKey, read: () => Promise<T>) {
  const client = useQueryClient();
  const shownKey = [...key, 'shown'];
  const shown = useQuery({ queryKey: shownKey, queryFn: read, placeholderData: (before) => before });
  const newest = useQuery({
    queryKey: [...key, 'newest'],
    queryFn: read,
    refetchInterval: WATCHED_EACH_MS,
    // What is shown was just read.
    initialData: shown.data,
    initialDataUpdatedAt: shown.dataUpdatedAt,
    enabled: shown.data !== undefined && !shown.isPlaceholderData,
    staleTime: WATCHED_EACH_MS,
  });
  const isOutOfDate =
    !shown.isPlaceholderData &&
    newest.dataUpdatedAt > shown.dataUpdatedAt &&
    JSON.stringify(newest.data) !== JSON.stringify(shown.data);
  return { ...shown, isOutOfDate, newest: newest.data, showNew: () => client.setQueryData(shownKey, newest.data) };
}

const byId = (orders: readonly OrderRow[]): ReadonlyMap<string, OrderRow> =>
  new Map(orders.map((order) => [order.id, order]));

const READ_AT_ONCE = 100;

/** All that the list has, also on other pages. @throws ApiError */
async function readAll(queue: Queue, search: OrdersSearch): Promise<ReadonlyMap<string, OrderRow>> {
  const all: OrderRow[] = [];
  for (let page = 1, last = 1; page <= last; page += 1) {
    const { data, meta } = await readQueue(queue, { ...search, page }, READ_AT_ONCE);
    all.push(...data);
    last = meta.last_page;
  }
  return byId(all);
}

type LinkTo = (order: OrderRow) => {
  readonly to: '/orders/$orderId';
  readonly params: { readonly orderId: string };
  readonly search: OrderSearch;
};

const columnsOf = (queue: Queue, { orders, common }: Words, linkTo: LinkTo): readonly Column<OrderRow>[] => [
  {
    id: 'customer',
    priority: 1,
    label: orders.customer,
    sort: 'customer',
    cell: (order) => (
      <Link {...linkTo(order)}>
        <Cut>{order.customer ?? order.buyer_customer_party_id ?? order.customer_reference ?? order.id.slice(0, 8)}</Cut>
      </Link>
    ),
  },
  {
    id: 'reference',
    priority: 2,
    label: orders.reference,
    sort: 'customer_reference',
    cell: (order) => <Cut>{order.customer_reference}</Cut>,
  },
  {
    id: 'state',
    priority: 2,
    label: common.status,
    sort: 'processing_status',
    cell: ({ id, processing_status: state }) => [<StatusBadge key="1" status={state} />, <OpenBy key="2" id={id} />],
  },
  { id: 'issued', label: orders.issued, sort: 'issue_date', cell: ({ issue_date }) => <When at={issue_date} /> },
  {
    id: 'delivery',
    priority: 1,
    label: orders.delivery,
    sort: 'delivery_date',
    cell: (order) => order.delivery_date !== null && <DeliveryDate date={order.delivery_date} of={order} />,
  },
  {
    id: 'reasons',
    label: orders.reasons,
    sort: 'error_reason',
    isHidden: queue !== REFUSED,
    priority: 3,
    cell: ({ error_reason }) => <Cut>{error_reason?.map(reasonInWords)}</Cut>,
  },
  { id: 'lines', label: orders.lines, sort: 'lines', isNumber: true, cell: ({ lines }) => lines },
  {
    id: 'problems',
    priority: 2,
    label: orders.problems,
    sort: 'problems',
    isHidden: queue !== TO_VALIDATE,
    cell: ({ problems }) =>
      problems === 0 ? (
        <Text span role="img" aria-label={orders.withoutProblems} c="dimmed">
          ✓
        </Text>
      ) : (
        problems && <Badge color="orange">{orders.problemCount(problems)}</Badge>
      ),
  },
  { id: 'accuracy', label: orders.accuracy, sort: 'accuracy', isNumber: true, cell: (of) => accuracyText(of.accuracy) },
  {
    id: 'received',
    label: queue === ARCHIVE ? orders.approvedAt : orders.received,
    sort: queue === ARCHIVE ? 'approved_at' : 'created_at',
    isHidden: queue !== ARCHIVE,
    cell: ({ created_at, approved_at }) => <When at={queue === ARCHIVE ? approved_at : created_at} />,
  },
  { id: 'number', label: orders.one, isHidden: true, cell: ({ id }) => <span className="mono">{id}</span> },
];
