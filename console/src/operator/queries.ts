/** What the operator's pages read, by the keys under which it is kept. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { bodyOf, dataOf } from '../api/client';
import { cursorOf } from '../app/usePages';
import type { LogSearch } from '../routes';
import { api } from './client';

/** What an operator watches is read again so often, in milliseconds. */
const WATCHED_EACH_MS = 5_000;
const watched = { refetchInterval: WATCHED_EACH_MS };

export const overviewQuery = queryOptions({
  queryKey: ['operator', 'overview'],
  queryFn: () => dataOf(api.GET('/api/v1/operator/overview')),
  ...watched,
});

export const historyQuery = (minutes: '60' | '1440') =>
  queryOptions({
    queryKey: ['operator', 'history', minutes],
    queryFn: () => dataOf(api.GET('/api/v1/operator/history', { params: { query: { minutes } } })),
    placeholderData: (before) => before,
    // A day is a long answer.
    refetchInterval: minutes === '60' ? WATCHED_EACH_MS : 12 * WATCHED_EACH_MS,
  });

const RUNNING_EACH_MS = 500;

/** More often while one is at work. */
export const jobsQuery = queryOptions({
  queryKey: ['operator', 'jobs'],
  queryFn: () => dataOf(api.GET('/api/v1/operator/jobs')),
  refetchInterval: ({ state }) =>
    state.data?.some(({ ended_at }) => ended_at === null) === true ? RUNNING_EACH_MS : WATCHED_EACH_MS,
});

export const tenantQuery = (tenant: string) =>
  queryOptions({
    queryKey: ['operator', 'tenant', tenant],
    queryFn: () => dataOf(api.GET('/api/v1/operator/tenants/{tenant}', { params: { path: { tenant } } })),
    ...watched,
  });

const firstPage = { initialPageParam: undefined as string | undefined };
const nextPage = ({ links }: { readonly links: { readonly next: string | null } }) => cursorOf(links.next, 'after');

export const tenantsQuery = (search: string) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'tenants', search],
    queryFn: ({ pageParam: after }) =>
      bodyOf(api.GET('/api/v1/operator/tenants', { params: { query: { search, after } as object } })),
    ...firstPage,
    getNextPageParam: nextPage,
    placeholderData: (before) => before,
  });

export const logQuery = ({ stream, at }: LogSearch) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'log', stream, at],
    queryFn: ({ pageParam: after }) =>
      bodyOf(api.GET('/api/v1/operator/log', { params: { query: { stream, after } as object } })),
    // The API gives what is before a position or revision.
    initialPageParam: at === undefined ? undefined : String(at + 1),
    getNextPageParam: nextPage,
  });
