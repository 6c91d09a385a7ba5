/** Every page of the console and its address. Filters are part of the address, so that a link shows the same. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  useRouterState,
} from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { Console } from './app/Console';
import { Loading, NotFound } from './app/Page';
import { PasswordPage, Welcome } from './app/Password';
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
const page = (value: unknown): number | undefined => {
  const number = Number(value);
  return Number.isInteger(number) && number > 1 ? number : undefined;
};
/** Without members that are not set: they would stand in the address. */
const set = <T extends object>(search: T): T =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T;

/** `from` and `to`: of the delivery date; `accuracy`: at most this. */
const OF_ORDERS = ['text', 'state', 'customer', 'from', 'to', 'accuracy', 'sort'] as const;
export type OrdersSearch = { readonly [name in (typeof OF_ORDERS)[number]]?: string } & { readonly page?: number };
const ordersSearch = (search: Search): OrdersSearch =>
  set({
    ...Object.fromEntries(OF_ORDERS.map((name) => [name, text(search[name])])),
    page: page(search.page),
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
    page: page(search.page),
    at: text(search.at),
  }) as RecordsSearch;
};

/** `batch`: a batch id, such as that of a sync session. */
export type OperationsSearch = { readonly batch?: string };
const operationsSearch = (search: Search): OperationsSearch => set({ batch: text(search.batch) }) as OperationsSearch;

export type CompareSearch = { readonly from?: string; readonly to?: string };
const compareSearch = (search: Search): CompareSearch =>
  set({ from: text(search.from), to: text(search.to) }) as CompareSearch;

/** As in the API. */
const OF_ACTIVITY = ['kind', 'actor', 'table', 'order_id', 'record_id', 'from', 'to'] as const;
export type ActivitySearch = { readonly [name in (typeof OF_ACTIVITY)[number]]?: string };
const activitySearch = (search: Search): ActivitySearch =>
  set(Object.fromEntries(OF_ACTIVITY.map((name) => [name, text(search[name])])));

export type LogSearch = { readonly stream?: string | undefined; readonly at?: number | undefined };
const logSearch = (search: Search): LogSearch =>
  set({ stream: text(search.stream), at: Number.isInteger(search.at) ? Number(search.at) : undefined });

const at = createRoute;
const orders = () => import('./orders/OrderList');
const tables = () => import('./tables/TableRecords');

const pages = [
  at({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: () => {
      throw redirect({ to: '/orders' });
    },
  }),
  at({
    getParentRoute: () => root,
    path: '/orders',
    validateSearch: ordersSearch,
    component: lazyRouteComponent(orders, 'ToValidate'),
  }),
  at({
    getParentRoute: () => root,
    path: '/refused',
    validateSearch: ordersSearch,
    component: lazyRouteComponent(orders, 'Refused'),
  }),
  at({
    getParentRoute: () => root,
    path: '/archive',
    validateSearch: ordersSearch,
    component: lazyRouteComponent(orders, 'Archive'),
  }),
  at({
    getParentRoute: () => root,
    path: '/orders/$orderId',
    validateSearch: orderSearch,
    component: lazyRouteComponent(() => import('./orders/OrderPage'), 'OrderPage'),
  }),
  at({
    getParentRoute: () => root,
    path: '/orders/$orderId/replay',
    component: lazyRouteComponent(() => import('./orders/OrderReplay'), 'OrderReplay'),
  }),
  at({
    getParentRoute: () => root,
    path: '/tables',
    component: lazyRouteComponent(() => import('./tables/Tables'), 'Tables'),
  }),
  at({
    getParentRoute: () => root,
    path: '/tables/$table',
    validateSearch: recordsSearch,
    component: lazyRouteComponent(tables, 'TableRecords'),
  }),
  at({
    getParentRoute: () => root,
    path: '/tables/$table/records/$recordId',
    component: lazyRouteComponent(() => import('./tables/RecordPage'), 'RecordPage'),
  }),
  at({
    getParentRoute: () => root,
    path: '/tables/$table/operations',
    validateSearch: operationsSearch,
    component: lazyRouteComponent(() => import('./tables/Operations'), 'Operations'),
  }),
  at({
    getParentRoute: () => root,
    path: '/tables/$table/import',
    component: lazyRouteComponent(() => import('./tables/Import'), 'Import'),
  }),
  at({
    getParentRoute: () => root,
    path: '/tables/$table/compare',
    validateSearch: compareSearch,
    component: lazyRouteComponent(() => import('./tables/Compare'), 'Compare'),
  }),
  at({
    getParentRoute: () => root,
    path: '/webhooks',
    component: lazyRouteComponent(() => import('./webhooks/Webhooks'), 'Webhooks'),
  }),
  at({
    getParentRoute: () => root,
    path: '/webhooks/$webhookId',
    component: lazyRouteComponent(() => import('./webhooks/WebhookPage'), 'WebhookPage'),
  }),
  at({
    getParentRoute: () => root,
    path: '/webhooks/$webhookId/deliveries/$deliveryId',
    component: lazyRouteComponent(() => import('./webhooks/DeliveryPage'), 'DeliveryPage'),
  }),
  at({
    getParentRoute: () => root,
    path: '/activity',
    validateSearch: activitySearch,
    component: lazyRouteComponent(() => import('./activity/Activity'), 'Activity'),
  }),
  at({
    getParentRoute: () => root,
    path: '/activity/$entryId',
    component: lazyRouteComponent(() => import('./activity/ActivityEntry'), 'ActivityEntryPage'),
  }),
  at({
    getParentRoute: () => root,
    path: '/api-clients',
    component: lazyRouteComponent(() => import('./settings/ApiClients'), 'ApiClients'),
  }),
  at({
    getParentRoute: () => root,
    path: '/users',
    component: lazyRouteComponent(() => import('./settings/Users'), 'Users'),
  }),
  at({
    getParentRoute: () => root,
    path: '/settings',
    component: lazyRouteComponent(() => import('./settings/Tenant'), 'TenantSettings'),
  }),
  at({ getParentRoute: () => root, path: '/welcome' }),
  // The frame opens the session.
  at({ getParentRoute: () => root, path: '/enter' }),
  at({
    getParentRoute: () => root,
    path: '/operator',
    component: lazyRouteComponent(() => import('./operator/Overview'), 'Overview'),
  }),
  at({
    getParentRoute: () => root,
    path: '/operator/tenants',
    validateSearch: (search: Search) => set({ text: text(search.text) }) as { readonly text?: string },
    component: lazyRouteComponent(() => import('./operator/Tenants'), 'Tenants'),
  }),
  at({
    getParentRoute: () => root,
    path: '/operator/tenants/$tenant',
    component: lazyRouteComponent(() => import('./operator/TenantPage'), 'TenantPage'),
  }),
  at({
    getParentRoute: () => root,
    path: '/operator/log',
    validateSearch: logSearch,
    component: lazyRouteComponent(() => import('./operator/Log'), 'Log'),
  }),
  at({
    getParentRoute: () => root,
    path: '/password',
    component: PasswordPage,
  }),
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
