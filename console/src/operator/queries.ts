/** The operator's API: the session that a link has opened, whose token is in this tab's storage and nowhere else, and what pages read. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import createClient from 'openapi-fetch';
import type { components, paths } from '../../generated/operator';
import { bodyOf, clientOptions, dataOf } from '../api/client';
import { queryClient, usePages } from '../api/queries';
import type { LogSearch } from '../routes';

export type Schemas = components['schemas'];
export type Tenant = Schemas['OperatorTenant'];
export type Parked = Schemas['Parked'];
export type Job = Schemas['RowJob'];

type Session = { readonly token: string; readonly operator: string; readonly endsAt: number };

const KEPT_AS = 'console.operator';

function kept(): Session | null {
  try {
    const found: Session | null = JSON.parse(sessionStorage.getItem(KEPT_AS) ?? 'null');
    return found !== null && found.endsAt > Date.now() ? found : null;
  } catch {
    return null;
  }
}

const sessionQuery = queryOptions({ queryKey: ['session', 'operator'], queryFn: kept, initialData: kept });

function setSession(next: Session | null): void {
  sessionStorage.setItem(KEPT_AS, JSON.stringify(next));
  queryClient.setQueryData(sessionQuery.queryKey, next);
}

export const endSession = (): void => setSession(null);

/** Null while nobody is signed in. */
export const useSession = (): Session | null => useQuery(sessionQuery).data;

export const api = createClient<paths>({ ...clientOptions, credentials: 'omit' });
api.use({
  onRequest({ request }) {
    const session = kept();
    if (session !== null) request.headers.set('Authorization', `Bearer ${session.token}`);
  },
  onResponse({ response }) {
    if (response.status === 401) endSession();
  },
});

/** A link opens one session, however often the page is rendered. */
const entering = new Map<string, Promise<void>>();

/** @throws ApiError */
export function enter(token: string): Promise<void> {
  const begun = entering.get(token) ?? open(token);
  entering.set(token, begun);
  return begun;
}

async function open(token: string): Promise<void> {
  const opened = await dataOf(api.POST('/api/v1/operator/sessions', { body: { token } }));
  setSession({ ...opened, endsAt: Date.now() + opened.expires_in * 1_000 });
}

/** What an operator watches is read again so often, in milliseconds. */
const WATCHED_EACH_MS = 5_000;

export const overviewQuery = queryOptions({
  queryKey: ['operator', 'overview'],
  queryFn: () => dataOf(api.GET('/api/v1/operator/overview')),
  refetchInterval: WATCHED_EACH_MS,
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
    refetchInterval: WATCHED_EACH_MS,
  });

export const tenantsWith = (search: string, cursor?: string) =>
  bodyOf(api.GET('/api/v1/operator/tenants', { params: { query: { search: search || undefined, cursor } as object } }));

export const useTenants = (search: string) =>
  usePages(['operator', 'tenants', search], (cursor) => tenantsWith(search, cursor));

/** The API gives what is before a position or revision. */
export const useLog = ({ at, ...search }: LogSearch) =>
  usePages(['operator', 'log', search, at], (cursor = at === undefined ? undefined : String(at + 1)) =>
    bodyOf(api.GET('/api/v1/operator/log', { params: { query: { ...search, cursor } as object } })),
  );
