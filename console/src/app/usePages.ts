/** A list with a cursor, read page by page. */
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

/** The cursor in a link to the next page; undefined if there is none. @param name of its parameter */
export function cursorOf(link: string | null, name = 'cursor'): string | undefined {
  if (link === null) return undefined;
  return new URL(link, window.location.origin).searchParams.get(name) ?? undefined;
}

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
