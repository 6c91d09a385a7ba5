/** What happened to an order: for a clerk beside it, the newest first, and for an auditor as a page of its own. */
import { Alert, Button, Group, Stack, Text, Timeline, Title } from '@mantine/core';
import { type QueryClient, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { memo, type ReactNode, useState } from 'react';
import { kindOfEvent, useKindWords } from '../activity/words';
import { type AssetType, api, bodyOf, dataOf, type Order, reasonInWords, type Schemas } from '../api/client';
import { usePages, useRoles } from '../api/queries';
import { useNumber, useText, When } from '../app/language';
import { Listed, Loaded, Page, Section } from '../app/Page';
import { titleOf } from '../app/Rows';
import { Changed, useLabels } from '../tables/Differences';
import { DeliveryStateBadge, outcomeOf } from '../webhooks/SuccessByHour';
import { changesOf, writtenOf } from './draft';
import { nameOf } from './FieldInput';
import { useProblemText } from './Problems';
import { orderQuery } from './queue';

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

/** Asked once by those who need it at the same time. @throws ApiError */
const pageOfHistory = (client: QueryClient, orderId: string, page = 1) => {
  const params = { path: { order_id: orderId }, query: { page, perPage: 100 } as object };
  const read = () => bodyOf(api.GET('/api/v1/platform/orders/{order_id}/history', { params }));
  return client.fetchQuery({ queryKey: ['orders', 'history', orderId, page], queryFn: read });
};

/** What differs since a person changed the order first, and the names that its parts had before. @throws ApiError */
async function readReceived(client: QueryClient, order: Order, type: AssetType) {
  const { data } = await pageOfHistory(client, order.id);
  const first = data.findIndex(({ actor, changes }, at) => at > 0 && actor.kind === 'user' && changes.length > 0);
  const before = data[first - 1];
  if (before === undefined) return { changes: [], names: [] };
  const params = { path: { order_id: order.id }, query: { at: String(before.position) } };
  const received = await dataOf(api.GET('/api/v1/platform/orders/{order_id}', { params }));
  const changes = changesOf(order.id, received, order, await writtenOf(client, type));
  return { changes, names: [...namesOfParts(received)] };
}

type Props = { readonly order: Order; readonly type: AssetType; readonly names: PartNames };

/** What a person has changed, with its values as they came in; and below that who did what, and when. */
export const OrderHistory = memo(({ order, type, names: now }: Props) => {
  const text = useText();
  const client = useQueryClient();
  const received = useQuery({
    queryKey: ['orders', 'received', order],
    queryFn: () => readReceived(client, order, type),
  });
  // The oldest come first in the API: this begins with the last page, and goes back.
  const read = useInfiniteQuery({
    queryKey: ['orders', 'history', order.id],
    queryFn: async ({ pageParam }) => {
      const page = await pageOfHistory(client, order.id, pageParam);
      const { last_page: last } = page.meta;
      const newest = pageParam !== undefined || last === 1 ? page : await pageOfHistory(client, order.id, last);
      return { ...newest, data: newest.data.toReversed() };
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ meta }) => (meta.current_page > 1 ? meta.current_page - 1 : undefined),
  });
  const names = new Map([...(received.data?.names ?? []), ...now]);
  return (
    <Stack gap="xs" mt="md">
      <Loaded query={received}>
        {({ changes }) =>
          changes.length > 0 && (
            <Section title={text.orders.asReceived}>
              <Changes {...{ changes, orderId: order.id, names }} isOpen={changes.length <= SHOWN} />
            </Section>
          )
        }
      </Loaded>
      <Group justify="space-between" mt="xs">
        <Title order={2}>{text.orders.history}</Title>
        {useRoles().isReader && (
          <Link to="/orders/$orderId/replay" params={{ orderId: order.id }}>
            {text.orders.replay}
          </Link>
        )}
      </Group>
      <Listed list={read} none="">
        {(entries) => (
          <Timeline bulletSize={12} lineWidth={2} active={entries.length}>
            {entries.map((entry) => (
              <Entry key={entry.id} entry={entry} orderId={order.id} names={names} />
            ))}
          </Timeline>
        )}
      </Listed>
    </Stack>
  );
});

type EntryProps = {
  readonly entry: Schemas['HistoryEntry'];
  readonly orderId: string;
  readonly names: PartNames;
  /** What an auditor reads besides: nothing is folded then. */
  readonly children?: ReactNode;
};

export function Entry({ entry, orderId, names, children }: EntryProps) {
  const states: { readonly [status: string]: string } = useText().status;
  const wordsOf = useKindWords();
  const { event, occurred_at: at, actor, status_from: from, status_to: to, reasons, changes } = entry;
  const who = actor.name ?? actor.id;
  const moved = from === to || from === null ? '' : `: ${states[from] ?? from} → ${states[to] ?? to}`;
  return (
    <Timeline.Item title={[<bdi key="who">{who}</bdi>, ` ${wordsOf(kindOfEvent(event))}${moved}`]}>
      <Text size="sm">
        <When at={at} long={children !== undefined} />
      </Text>
      <Text size="sm" className="text">
        {reasons.map(reasonInWords).join('\n')}
      </Text>
      <Changes {...{ changes, orderId, names }} isOpen={children !== undefined} />
      {children}
    </Timeline.Item>
  );
}

type ChangesProps = Omit<EntryProps, 'entry' | 'children'> & {
  readonly changes: readonly Schemas['FieldChange'][];
  readonly isOpen: boolean;
};

/** Which order a part is of goes without saying. */
function Changes({ changes: all, orderId, names, ...more }: ChangesProps) {
  const text = useText();
  const labelOf = useLabels();
  const [isOpen, setOpen] = useState(more.isOpen);
  const changes = all.filter(({ from, to }) => from !== orderId && to !== orderId);
  if (changes.length === 0) return null;
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{text.orders.changes(changes.length)}</summary>
      {(isOpen || changes.length <= SHOWN) &&
        changes.map(({ table, id, field, from, to }) => (
          <Changed
            key={`${table} ${id} ${field}`}
            label={[...(id === orderId ? [] : [names.get(id) ?? labelOf(table)]), labelOf(field, table)]}
            from={names.get(String(from)) ?? from}
            to={names.get(String(to)) ?? to}
          />
        ))}
    </details>
  );
}

type Step = Schemas['ReplayStep'];

/** The whole story for an auditor: each step with its problems, what was sent because of it, and the answers. */
export function OrderReplay() {
  const { orderId } = getRouteApi('/orders/$orderId/replay').useParams();
  const text = useText();
  const say = useProblemText();
  const { order } = useQuery(orderQuery(orderId)).data ?? {};
  const names = namesOfParts(order ?? {});
  const file = `/api/v1/platform/orders/${orderId}/export`;
  const replay = usePages(['orders', 'replay', orderId], (cursor) => {
    const params = { path: { order_id: orderId }, query: { cursor } as object };
    return bodyOf(api.GET('/api/v1/platform/orders/{order_id}/replay', { params }));
  });
  return (
    <Page
      title={order === undefined ? text.orders.replay : [nameOf(order), text.orders.replay]}
      actions={
        <>
          <Button component="a" href={file} download={`order-${orderId}.zip`} size="xs" variant="default">
            {text.orders.export}
          </Button>
          <Link to="/orders/$orderId" params={{ orderId }}>
            {text.orders.one}
          </Link>
        </>
      }
    >
      <Listed list={replay} none="">
        {(steps) => (
          <Timeline bulletSize={14} lineWidth={2} active={Number.MAX_SAFE_INTEGER}>
            {steps.map((step) => (
              <Entry key={step.id} entry={step} orderId={orderId} names={names}>
                {step.problems.length > 0 && (
                  <Alert color="orange" p="xs" title={text.orders.problems}>
                    {step.problems.map((problem) => (
                      <Text key={problem.field} size="sm">
                        {say(problem)}
                      </Text>
                    ))}
                  </Alert>
                )}
                {step.deliveries.map((delivery) => (
                  <Delivery key={delivery.id} delivery={delivery} />
                ))}
              </Entry>
            ))}
          </Timeline>
        )}
      </Listed>
    </Page>
  );
}

function Delivery({ delivery }: { readonly delivery: Step['deliveries'][number] }) {
  const number = useNumber();
  const webhook = { webhookId: delivery.webhook_id, deliveryId: delivery.id };
  return (
    <>
      <Group gap="xs">
        <DeliveryStateBadge state={delivery.state} /> {delivery.kind}
        {delivery.webhook_name !== null && (
          <Link to="/webhooks/$webhookId/deliveries/$deliveryId" params={webhook}>
            <bdi>{delivery.webhook_name || delivery.id}</bdi>
          </Link>
        )}
      </Group>
      {delivery.attempts.map((attempt) => (
        <Text key={attempt.attempt} size="sm" className="text">
          {attempt.attempt}. <When at={attempt.started_at} long /> · {outcomeOf(attempt)}
          {attempt.duration_ms !== null && ` · ${number(attempt.duration_ms)} ms`}
          {`\nSHA-256 ${attempt.body_sha256}`}
          {attempt.response_body && `\n${attempt.response_body}`}
        </Text>
      ))}
    </>
  );
}
