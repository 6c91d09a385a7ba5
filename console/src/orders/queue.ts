/** The lists of orders that clerks work through, and the way from one order of a list to the next. */
import { answerOf, api, bodyOf, type Order, type OrderRow } from '../api/client';
import type { OrdersSearch } from '../routes';

export type Queue = {
  readonly path: '/orders' | '/refused' | '/archive';
  readonly states: readonly OrderRow['processing_status'][];
};
export const TO_VALIDATE: Queue = { path: '/orders', states: ['pending_validation', 'saved', 'validated'] };
export const REFUSED: Queue = { path: '/refused', states: ['submit_failed', 'failed'] };
export const ARCHIVE: Queue = { path: '/archive', states: ['submitted', 'completed', 'rejected'] };
const QUEUES = [TO_VALIDATE, REFUSED, ARCHIVE] as const;

const PAGE_SIZE = 25;

/** Until yesterday, `2026-11-21` as Swedes write it. */
export const overdue = (): OrdersSearch => ({ to: new Date(Date.now() - 86_400_000).toLocaleDateString('sv') });

/** Where an order was opened: the list with its filter and sort, and the order's place in it, from 0. */
export type OrderSearch = Omit<OrdersSearch, 'page'> & { readonly list?: Queue['path']; readonly place?: number };

/** Of the order in this row of a page. */
export const placeOf = (queue: Queue, { page = 1, ...search }: OrdersSearch, row: number): OrderSearch => ({
  ...search,
  ...(queue === TO_VALIDATE ? {} : { list: queue.path }),
  place: (page - 1) * PAGE_SIZE + row,
});

export const queueOf = ({ list }: OrderSearch): Queue => QUEUES.find(({ path }) => path === list) ?? TO_VALIDATE;

/** A page of the list. @throws ApiError */
export const readQueue = (queue: Queue, search: OrdersSearch, perPage = PAGE_SIZE) =>
  bodyOf(
    api.GET('/api/v1/platform/orders', {
      params: {
        query: {
          perPage,
          page: search.page,
          search: search.text,
          problems: search.problems,
          sort: search.sort ?? (queue === ARCHIVE ? '-updated_at' : 'created_at'),
          'filter[processing_status][in]': search.state ?? queue.states.join(','),
          'filter[buyer_customer_party_id][eq]': search.customer,
          'filter[delivery_date][gte]': search.from,
          'filter[delivery_date][lte]': search.to,
          'filter[accuracy][lte]': search.accuracy,
        } as object,
      },
    }),
  );

/** The page of the list that has this place. @throws ApiError */
export async function readPageOf(search: OrderSearch, place: number) {
  const { list: _, place: __, ...filter } = search;
  const page = Math.floor(place / PAGE_SIZE) + 1;
  const { data, meta } = await readQueue(queueOf(search), { ...filter, page });
  return { rows: data, first: (page - 1) * PAGE_SIZE, total: meta.total };
}

/**
 * The order behind this one in its list, or else the first of the list. An order that has left the list has made room for the
 * one behind it.
 * @param isDone of orders that are passed over @returns undefined if there is none @throws ApiError
 */
export async function nextOrder(
  search: OrderSearch,
  id: string,
  isDone: (id: string) => boolean,
): Promise<{ readonly id: string; readonly place: number } | undefined> {
  for (let [place, isBehind] = [search.place ?? 0, true]; ; ) {
    const { rows, first, total } = await readPageOf(search, place);
    const own = isBehind ? rows.findIndex((row) => row.id === id) : -1;
    const from = own < 0 ? place - first : own + 1;
    const at = rows.findIndex((row, index) => index >= from && row.id !== id && !isDone(row.id));
    const found = rows[at];
    if (found !== undefined) return { id: found.id, place: first + at };
    place = first + PAGE_SIZE;
    if (place < total) continue;
    if (!isBehind) return undefined;
    [place, isBehind] = [0, false];
  }
}

export type Read = { readonly order: Order; readonly tag: string | null };

export const orderQuery = (id: string) => ({ queryKey: ['orders', 'one', id], queryFn: () => readOrder(id) });

/** With the tag of its version. @throws ApiError */
export async function readOrder(id: string): Promise<Read> {
  const params = { path: { order_id: id } };
  const { body, tag } = await answerOf(api.GET('/api/v1/platform/orders/{order_id}', { params }));
  return { order: body.data, tag };
}
