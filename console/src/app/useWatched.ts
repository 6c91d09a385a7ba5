/** A list that stays as it is shown until the person asks for what is new. */
import { type QueryKey, useQuery, useQueryClient } from '@tanstack/react-query';

const WATCHED_EACH_MS = 10_000;

/** @param read asked once for what is shown, and then every ten seconds for whether that is out of date */
export function useWatched<T extends object>(key: QueryKey, read: () => Promise<T>) {
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
