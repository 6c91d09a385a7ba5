/** What happened to an order, the newest first: who, when, and which fields. */
import { Text, Timeline } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { memo, type ReactNode, useState } from 'react';
import { kindOfEvent, useKindWords } from '../activity/words';
import { api, bodyOf, type Schemas } from '../api/client';
import { useText, When } from '../app/language';
import { Listed } from '../app/Page';
import { titleOf } from '../app/Rows';
import { Changed, useLabels } from '../tables/Differences';

const SHOWN = 25;

/** Names by id: of a line its number and its item, of an item or a unit its name. */
export type PartNames = ReadonlyMap<string, string>;

/** Of the parts that an order has now, and of what they name. */
export function namesOfParts(order: object): PartNames {
  const names = new Map<string, string>();
  for (const list of Object.values(order)) {
    if (!Array.isArray(list)) continue;
    for (const [index, part] of list.entries()) {
      for (const named of Object.values(part ?? {}))
        if (Object(named).id !== undefined) names.set(Object(named).id, titleOf(Object(named)));
      const { id, line_number: number, item } = Object(part);
      const name: unknown = Object(item).name;
      if (typeof id === 'string')
        names.set(id, `${number ?? index + 1}${typeof name === 'string' ? ` (${name})` : ''}`);
    }
  }
  return names;
}

type Props = { readonly orderId: string; readonly names: PartNames };

export const OrderHistory = memo(({ orderId, names }: Props) => {
  const text = useText();
  const answer = async (page: number) => {
    const params = { path: { order_id: orderId }, query: { page, perPage: SHOWN } as object };
    const { data, meta } = await bodyOf(api.GET('/api/v1/platform/orders/{order_id}/history', { params }));
    return { data: data.toReversed(), page: meta.current_page, last: meta.last_page };
  };
  // The oldest come first in the API: the console begins with the last page, and goes back.
  const read = useInfiniteQuery({
    queryKey: ['orders', 'history', orderId],
    queryFn: async ({ pageParam }) => {
      if (pageParam !== undefined) return answer(pageParam);
      const first = await answer(1);
      return first.last <= 1 ? first : answer(first.last);
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ page }) => (page > 1 ? page - 1 : undefined),
  });
  return (
    <Listed list={read} none={text.orders.noHistory}>
      {(entries) => (
        <Timeline bulletSize={12} lineWidth={2} active={entries.length}>
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} orderId={orderId} names={names} />
          ))}
        </Timeline>
      )}
    </Listed>
  );
});

type EntryProps = {
  readonly entry: Schemas['HistoryEntry'];
  readonly orderId: string;
  readonly names?: PartNames;
  /** What an auditor reads besides: nothing is folded then. */
  readonly children?: ReactNode;
};

export function Entry({ entry, orderId, names, children }: EntryProps) {
  const text = useText();
  const labelOf = useLabels();
  const wordsOf = useKindWords();
  const { event, occurred_at: at, actor, status_from: from, status_to: to, reasons } = entry;
  const changes = entry.changes.filter((each) => each.from !== orderId && each.to !== orderId);
  const who = actor.name ?? actor.id;
  const states: { readonly [status: string]: string } = text.status;
  const changed = from === to || from === null ? [] : [`${states[from] ?? from} → ${states[to] ?? to}`];
  const [isOpen, setOpen] = useState(children !== undefined);
  const isNamed = children !== undefined || changed.length === 0;
  const named = isNamed && [<bdi key="who">{who}</bdi>, ` ${wordsOf(kindOfEvent(event))}`, changed.length > 0 && ': '];
  return (
    <Timeline.Item title={[named, changed]}>
      <Text size="sm">
        <When at={at} long={children !== undefined} /> {!isNamed && <bdi>{text.orders.whoChanged(who)}</bdi>}
      </Text>
      {reasons.map((reason, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same reason may stand twice
        <Text key={index} size="sm" className="text">
          {reason}
        </Text>
      ))}
      {changes.length > 0 && (
        <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>{text.orders.changes(changes.length)}</summary>
          {(isOpen || changes.length <= SHOWN) &&
            changes.map((change) => (
              <Changed
                key={`${change.table} ${change.id} ${change.field}`}
                label={[
                  ...(change.id === orderId ? [] : [names?.get(change.id) ?? labelOf(change.table)]),
                  labelOf(change.field, change.table),
                ]}
                from={names?.get(String(change.from)) ?? change.from}
                to={names?.get(String(change.to)) ?? change.to}
              />
            ))}
        </details>
      )}
      {children}
    </Timeline.Item>
  );
}
