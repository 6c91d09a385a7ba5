/** A list with a cursor, read page by page. */
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

/** The cursor in a link to the next page; undefined if there is none. */
export const cursorOf = (link: string | null): string | undefined =>
  link === null ? undefined : (new URL(link, window.location.origin).searchParams.get('cursor') ?? undefined);

type Linked = { readonly links: { readonly next: string | null } };

/** @param everyMs how often it is read again; never by default */
export const usePages = <Answer extends Linked>(
  queryKey: QueryKey,
  read: (cursor: string | undefined) => Promise<Answer>,
  everyMs?: number,
) =>
  useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ links }: Answer) => cursorOf(links.next),
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  });
