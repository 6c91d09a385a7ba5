/** A list with a cursor, read page by page. */
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

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
