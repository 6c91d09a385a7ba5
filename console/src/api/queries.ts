/** What pages read from the API, by the keys under which it is kept, and page by page. */
import {
  MutationCache,
  QueryCache,
  QueryClient,
  type QueryKey,
  queryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { useEffect } from 'react';
import { languageNow } from '../app/language';
import {
  ApiError,
  type AssetField,
  type AssetType,
  api,
  bodyOf,
  DUTCH_LABELS,
  dataOf,
  maySession,
  SIGNED_IN,
  type User,
} from './client';

const MINUTE_MS = 60_000;

/** The session has ended meanwhile, whether that is found by reading or by saving: the console asks for a new one. */
const onError = (error: unknown): void => {
  if (error instanceof ApiError && error.status === 401) setSession(null);
};

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    // Offline, both fail at once: what waits for the network would be sent when nobody looks.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      // A refusal stays one; only what may pass by itself is asked again.
      retry: (failures, error) =>
        failures < 2 && error instanceof ApiError && [0, 429, 502, 503].includes(error.status),
      retryDelay: (_failures, error) =>
        Math.min((error instanceof ApiError ? (error.retryAfter ?? 1) : 1) * 1_000, 5_000),
    },
  },
});

/** Call it with the user of a new session, and with null at its end: the sign-in takes the place of the pages. */
export function setSession(user: User | null): void {
  if (user === null) localStorage.removeItem(SIGNED_IN);
  else localStorage.setItem(SIGNED_IN, 'yes');
  queryClient.setQueryData(sessionQuery.queryKey, user);
}

// Tables are read with the labels of a language.
window.addEventListener('spoken', () => void queryClient.invalidateQueries());

// Signed out in another tab.
window.addEventListener('storage', ({ key, newValue }) => {
  if (key === SIGNED_IN && newValue === null) setSession(null);
});

/**
 * For what is shown in place of the pages: all that was read for them goes, once they have gone. A page that is still there
 * would ask for it again, and once more for each refusal.
 */
export function useForgottenPages(): void {
  useEffect(() => {
    queryClient.getMutationCache().clear();
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
  }, []);
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async () => {
    // Asked without one, the browser would show an error.
    if (!maySession()) return null;
    try {
      return (await bodyOf(api.GET('/api/v1/platform/session'))).data;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      localStorage.removeItem(SIGNED_IN);
      return null;
    }
  },
  staleTime: MINUTE_MS,
});

export const tenantQuery = queryOptions({
  queryKey: ['tenant'],
  queryFn: () => dataOf(api.GET('/api/v1/platform/tenant')),
  staleTime: MINUTE_MS,
});

/** A label of ours in the person's language. */
export const ours = (label: string) => (languageNow() === 'nl' ? (DUTCH_LABELS.get(label) ?? label) : label);

/** A name from right to left turns nothing that stands behind it. */
export const isolated = (name: string) => (/[\u0590-\u08ff\u202a-\u202e]/.test(name) ? `\u2068${name}\u2069` : name);

/** With the labels that admins gave in the person's language, or ours. A record is picked by its name: people see no id. */
function spoken<Type extends AssetType>(type: Type): Type {
  const language = languageNow();
  const { table, fields } = type.labels;
  const isReference = ({ name }: AssetField) =>
    type.relationships.some((each) => each.field === name && each.kind === 'belongs_to');
  const short = (field: AssetField) =>
    isReference(field) ? field.label.replace(/ \(.*external id\)$| id$/, '') : field.label;
  const inWords = (field: AssetField) => ({
    ...field,
    label: isolated(fields[field.name]?.[language] ?? ours(short(field))),
  });
  const [own, retired] = [type.fields.map(inWords), type.retired.map(inWords)];
  return { ...type, label: isolated(table[language] ?? ours(type.label)), fields: own, retired };
}

export const assetTypesQuery = queryOptions({
  queryKey: ['asset-types'],
  queryFn: async () => (await dataOf(api.GET('/api/v1/platform/asset-types'))).map(spoken),
  staleTime: MINUTE_MS,
});

/** @param at as of `at=`; now by default */
export const tableInfoQuery = (table: string, at?: string) =>
  queryOptions({
    queryKey: ['info', table, at],
    queryFn: async () => {
      const params = { path: { table }, query: { at } as object };
      return spoken(await dataOf(api.GET('/api/v1/platform/tables/{table}/info', { params })));
    },
    staleTime: MINUTE_MS,
  });

const COUNTED_EACH_MS = 15_000;

/** How many orders wait in each queue. */
export const orderCountsQuery = queryOptions({
  queryKey: ['orders', 'counts'],
  queryFn: async () => {
    const waiting = (await bodyOf(api.GET('/api/v1/platform/orders/counts'))).data;
    return {
      toValidate: waiting.pending_validation + waiting.saved + waiting.validated,
      refused: waiting.submit_failed + waiting.failed,
    };
  },
  refetchInterval: COUNTED_EACH_MS,
});

const listOf = <T extends { readonly data: unknown }>(name: string, read: () => Parameters<typeof dataOf<T>>[0]) =>
  queryOptions({ queryKey: [name], queryFn: () => dataOf(read()) });
export const tableSummariesQuery = listOf('tables', () => api.GET('/api/v1/platform/tables'));
export const webhooksQuery = listOf('webhooks', () => api.GET('/api/v1/platform/webhooks'));
export const apiClientsQuery = listOf('api-clients', () => api.GET('/api/v1/platform/api-clients'));
export const usersQuery = listOf('users', () => api.GET('/api/v1/platform/users'));

/** What the person's roles let them do. The service checks that itself; the console only leaves out what it would refuse. */
export function useRoles() {
  const roles = useQuery(sessionQuery).data?.roles ?? [];
  const isAdmin = roles.includes('admin');
  return {
    /** Changes settings. */
    isAdmin,
    /** Saves, approves and rejects orders. */
    isValidator: isAdmin || roles.includes('validator'),
    /** Reads settings, webhooks and the activity. */
    isReader: isAdmin || roles.includes('auditor'),
  };
}

/** The cursor in a link to the next page; undefined if there is none. */
export const cursorOf = (link: string | null): string | undefined =>
  link === null ? undefined : (new URL(link, window.location.origin).searchParams.get('cursor') ?? undefined);

type Linked = { readonly links: { readonly next: string | null } };

/** All pages, until there are as many rows as wanted. */
export async function readAll<Row>(
  read: (cursor: string | undefined) => Promise<Linked & { readonly data: readonly Row[] }>,
  wanted = Number.POSITIVE_INFINITY,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const { data, links } = await read(cursor);
    rows.push(...data);
    cursor = cursorOf(links.next);
  } while (cursor !== undefined && rows.length < wanted);
  return rows;
}

/** A list with a cursor, read page by page. */
export const usePages = <Answer extends Linked>(
  queryKey: QueryKey,
  read: (cursor: string | undefined) => Promise<Answer>,
  more: { readonly enabled?: boolean; readonly refetchInterval?: number } = {},
) =>
  useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ links }: Answer) => cursorOf(links.next),
    ...more,
  });
