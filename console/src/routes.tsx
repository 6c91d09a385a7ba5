/** Every page of the console and its address. Filters are part of the address, so that a link shows the same. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { Loading, NotFound } from './app/Page';
import { Welcome } from './app/Password';
import { Console } from './app/Shell';
import type { OrderSearch } from './orders/queue';

const Operator = lazy(async () => ({ default: (await import('./operator/Operator')).Operator }));
/** Addresses of the operator's pages, which the service has at the operator's host alone. */
const OPERATORS = /^\/(?:enter|operator)(?:\/|$)/;

function Root() {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  if (path === '/welcome') return <Welcome />;
  if (!OPERATORS.test(path)) return <Console />;
  return (
    <Suspense fallback={<Loading />}>
      <Operator />
    </Suspense>
  );
}

const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

type Search = { readonly [name: string]: unknown };
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;
const pageNumber = (value: unknown): number | undefined => {
  const number = Number(value);
  return Number.isInteger(number) && number > 1 ? number : undefined;
};
/** Without members that are not set: they would stand in the address. */
const set = <T extends object>(search: T): T =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T;

/** `from` and `to`: of the delivery date; `accuracy`: at most this; `problems`: `some` or `none`. */
const OF_ORDERS = ['text', 'state', 'customer', 'from', 'to', 'accuracy', 'problems', 'sort'] as const;
export type OrdersSearch = { readonly [name in (typeof OF_ORDERS)[number]]?: string } & { readonly page?: number };
const ordersSearch = (search: Search): OrdersSearch =>
  set({
    ...Object.fromEntries(OF_ORDERS.map((name) => [name, text(search[name])])),
    page: pageNumber(search.page),
  }) as OrdersSearch;

const PATHS = ['/refused', '/archive'] as const;
const orderSearch = (search: Search): OrderSearch => {
  const { page: _, ...filter } = ordersSearch(search);
  const place = Number(search.place);
  return set({
    ...filter,
    list: PATHS.find((path) => path === search.list),
    place: Number.isInteger(place) && place > 0 ? place : undefined,
  }) as OrderSearch;
};

/** `filters`: as in the API, `field` or `field[operator]` to a value. */
export type RecordsSearch = {
  readonly filters?: { readonly [field: string]: string };
  readonly sort?: string;
  readonly page?: number;
  readonly at?: string;
};
const recordsSearch = (search: Search): RecordsSearch => {
  const { filters } = search;
  const isObject = typeof filters === 'object' && filters !== null && !Array.isArray(filters);
  const entries = isObject
    ? Object.entries(filters).flatMap(([name, value]) => (text(value) ? [[name, text(value)]] : []))
    : [];
  return set({
    filters: entries.length === 0 ? undefined : Object.fromEntries(entries),
    sort: text(search.sort),
    page: pageNumber(search.page),
    at: text(search.at),
  }) as RecordsSearch;
};

type Texts<Name extends string> = { readonly [name in Name]?: string };
const texts =
  <Name extends string>(...names: readonly Name[]) =>
  (search: Search): Texts<Name> =>
    set(Object.fromEntries(names.map((name) => [name, text(search[name])]))) as Texts<Name>;

/** `batch`: a batch id, such as that of a sync session. */
export type OperationsSearch = Texts<'batch'>;
export type CompareSearch = Texts<'from' | 'to'>;
/** As in the API. */
const OF_ACTIVITY = ['kind', 'actor', 'table', 'order_id', 'record_id', 'from', 'to'] as const;
export type ActivitySearch = Texts<(typeof OF_ACTIVITY)[number]>;
/** `at`: the position, or the revision in the stream, from which on older events are shown. */
export type LogSearch = { readonly [name in 'stream' | 'type']?: string | undefined } & { at?: number | undefined };
const logSearch = ({ stream, type, at }: Search): LogSearch =>
  set({ stream: text(stream), type: text(type), at: Number.isInteger(at) ? Number(at) : undefined });

const at = createRoute;
const load = lazyRouteComponent;
const page = <const Path extends string>(path: Path) => ({ getParentRoute: () => root, path }) as const;
const orders = () => import('./orders/OrderList');
const tables = () => import('./tables/TableRecords');
const tenants = () => import('./operator/Tenants');

const pages = [
  at({ ...page('/'), component: load(() => import('./app/Home'), 'Home') }),
  at({ ...page('/orders'), validateSearch: ordersSearch, component: load(orders, 'ToValidate') }),
  at({ ...page('/refused'), validateSearch: ordersSearch, component: load(orders, 'Refused') }),
  at({ ...page('/archive'), validateSearch: ordersSearch, component: load(orders, 'Archive') }),
  at({
    ...page('/orders/$orderId'),
    validateSearch: orderSearch,
    component: load(() => import('./orders/OrderPage'), 'OrderPage'),
  }),
  at({ ...page('/orders/$orderId/replay'), component: load(() => import('./orders/OrderHistory'), 'OrderReplay') }),
  at({ ...page('/tables'), component: load(() => import('./tables/Tables'), 'Tables') }),
  at({ ...page('/tables/$table'), validateSearch: recordsSearch, component: load(tables, 'TableRecords') }),
  at({
    ...page('/tables/$table/records/$recordId'),
    validateSearch: texts('at'),
    component: load(() => import('./tables/RecordPage'), 'RecordPage'),
  }),
  at({
    ...page('/tables/$table/operations'),
    validateSearch: texts('batch'),
    component: load(() => import('./tables/Operations'), 'Operations'),
  }),
  at({ ...page('/tables/$table/import'), component: load(() => import('./tables/Import'), 'Import') }),
  at({
    ...page('/tables/$table/compare'),
    validateSearch: texts('from', 'to'),
    component: load(() => import('./tables/Compare'), 'Compare'),
  }),
  at({ ...page('/webhooks'), component: load(() => import('./webhooks/Webhooks'), 'Webhooks') }),
  at({ ...page('/webhooks/$webhookId'), component: load(() => import('./webhooks/WebhookPage'), 'WebhookPage') }),
  at({
    ...page('/webhooks/$webhookId/deliveries/$deliveryId'),
    component: load(() => import('./webhooks/DeliveryPage'), 'DeliveryPage'),
  }),
  at({
    ...page('/activity'),
    validateSearch: texts(...OF_ACTIVITY),
    component: load(() => import('./activity/Activity'), 'Activity'),
  }),
  at({ ...page('/activity/$entryId'), component: load(() => import('./activity/ActivityEntry'), 'ActivityEntryPage') }),
  at({ ...page('/api-clients'), component: load(() => import('./settings/ApiClients'), 'ApiClients') }),
  at({ ...page('/users'), component: load(() => import('./settings/Users'), 'Users') }),
  at({ ...page('/settings'), component: load(() => import('./settings/Tenant'), 'TenantSettings') }),
  at({ ...page('/account'), component: load(() => import('./app/Account'), 'Account') }),
  at(page('/welcome')),
  // The frame opens the session.
  at(page('/enter')),
  at({ ...page('/operator'), component: load(() => import('./operator/Overview'), 'Overview') }),
  at({ ...page('/operator/tenants'), validateSearch: texts('text'), component: load(tenants, 'Tenants') }),
  at({ ...page('/operator/tenants/$tenant'), component: load(tenants, 'TenantPage') }),
  at({ ...page('/operator/log'), validateSearch: logSearch, component: load(() => import('./operator/Log'), 'Log') }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren(pages),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
