/** Entries of the activity in a table, and one on a page of its own: the request behind it, a link to what it changed, its proof. */
import { Anchor, Code, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf, reasonInWords, type Schemas } from '../api/client';
import { useText, When } from '../app/language';
import { Loaded, NotFound, Page } from '../app/Page';
import { Facts, Rows, valueText } from '../app/Rows';
import type { ActivitySearch } from '../routes';
import { useLabels } from '../tables/Differences';
import { useFor, useVerb } from './words';

export type Entry = Schemas['ActivityEntry'];

export function ActivityEntryPage() {
  const { entryId } = getRouteApi('/activity/$entryId').useParams();
  const text = useText();
  const subjectOf = useSubject();
  const verbOf = useVerb();
  const titleOf = (of: Entry): string => {
    const [before = '', behind = ''] = verbOf(of.kind);
    const { words, more } = subjectOf(of);
    return [reasonInWords(of.actor.name ?? of.actor.id), before, words, more].filter(Boolean).join(' ') + behind;
  };
  // An entry is found by the page that begins with it.
  const entry = useQuery({
    queryKey: ['activity', 'one', entryId],
    queryFn: async () => {
      const query = momentOf(entryId) as object;
      const entries = await dataOf(api.GET('/api/v1/platform/activity', { params: { query } }));
      return entries.find(({ id }) => id === entryId) ?? null;
    },
  });
  if (entry.data === null) return <NotFound />;
  return (
    <Page title={entry.data === undefined ? text.activity.title : titleOf(entry.data)}>
      <Loaded query={entry}>{(of) => of && <EntryFacts entry={of} />}</Loaded>
    </Page>
  );
}

/** The second in which the entry with this id happened: its id begins with it. */
function momentOf(id: string): { readonly from: string; readonly to: string; readonly limit: number } {
  const at = id.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{6}).*/, '$1-$2-$3T$4:$5:$6.$7Z');
  return { from: at, to: at, limit: 100 };
}

function EntryFacts({ entry }: { readonly entry: Entry }) {
  const { activity: text, tables, webhooks, status, users } = useText();
  const labelOf = useLabels();
  const { words } = useSubject()(entry);
  const wordsOf = (value: string) => new Map(Object.entries({ ...status, ...users.role })).get(value) ?? value;
  const rows = [
    [text.when, <When key="when" at={entry.occurred_at} long />],
    [text.who, <bdi key="who">{`${reasonInWords(entry.actor.name ?? '')} (${entry.actor.id})`}</bdi>],
    [text.on, words !== '' && <Subject key="on" entry={entry} />],
    [text.request, entry.request && `${entry.request.method} ${entry.request.path}`],
    [
      text.differences,
      entry.table !== null && entry.counts !== null && entry.order_id === null && (
        <Link
          key="differences"
          to="/tables/$table/compare"
          params={{ table: entry.table }}
          search={{ from: String(entry.position - 1), to: entry.occurred_at }}
        >
          {tables.compare}
        </Link>
      ),
    ],
    [text.correlation, entry.correlation_id],
    [webhooks.event, entry.event_id],
    ...Object.entries(entry.details).map(([name, value]) => [labelOf(name), wordsOf(valueText(value))] as const),
  ] as const;
  return (
    <>
      <Facts label={text.what} facts={rows.filter(([, value]) => value)} />
      <Proof event={entry.event_id} />
    </>
  );
}

/** What the proof says, in words, and the proof itself for a program that checks it. */
function Proof({ event }: { readonly event: string }) {
  const text = useText().activity;
  const [isOpen, setOpen] = useState(false);
  const proof = useQuery({
    queryKey: ['proof', event],
    queryFn: () => dataOf(api.GET('/api/v1/platform/audit/proof', { params: { query: { event } } })),
    enabled: isOpen,
  });
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{text.proof}</summary>
      {isOpen && (
        <Loaded query={proof}>
          {({ leaf, proof: written }) => {
            // c2sp.org/tlog-proof: the number of the event and its path, an empty line, and the signed checkpoint.
            const [path = '', checkpoint = ''] = written.split('\n\n');
            const [log = '', size = '', root = ''] = checkpoint.split('\n');
            const index = Number(/^index (\d+)$/m.exec(path)?.[1]) + 1;
            return (
              <Stack gap="xs" pt="xs">
                <Text className="text">{text.proved(index, size, log, root)}</Text>
                <Code block className="json">
                  {JSON.stringify(JSON.parse(leaf), null, 2)}
                </Code>
                <Anchor href={`/api/v1/platform/audit/proof?event=${event}`} download={`proof-${event}.json`}>
                  {text.downloadProof}
                </Anchor>
              </Stack>
            );
          }}
        </Loaded>
      )}
    </details>
  );
}

type EntriesProps = { readonly entries: readonly Entry[]; readonly onFilter: (more: ActivitySearch) => void };

/** Sentences: who, what, on what and for whom; the first of them can be made a filter. */
export function Entries({ entries, onFilter }: EntriesProps) {
  const text = useText().activity;
  return (
    <Rows
      label={text.title}
      heads={[text.when, text.what]}
      rows={entries.map((entry) => ({
        id: entry.id,
        cells: [
          <Link key="when" to="/activity/$entryId" params={{ entryId: entry.id }}>
            <When at={entry.occurred_at} />
          </Link>,
          <Sentence key="what" entry={entry} onFilter={onFilter} />,
        ],
      }))}
    />
  );
}

function Sentence({ entry, onFilter }: { readonly entry: Entry } & Pick<EntriesProps, 'onFilter'>) {
  const text = useText().activity;
  const { actor, counts, kind, order_id: order, record_id: record } = entry;
  const [before, behind] = useVerb()(kind);
  const { words, more } = useSubject()(entry);
  const numbers = counts && record === null && `(${text.counts(counts.created, counts.updated, counts.deleted)})`;
  const rest = [behind?.trim(), numbers].filter(Boolean).join(' ');
  return (
    <Group gap={4} className="sentence">
      <Chip onClick={() => onFilter({ actor: actor.id })}>{reasonInWords(actor.name ?? actor.id)}</Chip>
      <Chip onClick={() => onFilter({ kind })}>{before ?? ''}</Chip>
      {words !== '' && <Subject entry={entry} />}
      {more !== undefined && <bdi>{more}</bdi>}
      {rest !== '' && <span>{rest}</span>}
      {order !== null && (
        <Chip label={`${text.only}: ${words}`} onClick={() => onFilter({ order_id: order })}>
          ⌕
        </Chip>
      )}
    </Group>
  );
}

type ChipProps = { readonly label?: string; readonly children: string; readonly onClick: () => void };

function Chip({ label, children, onClick }: ChipProps) {
  const { only } = useText().activity;
  return (
    <UnstyledButton fz="sm" px={6} py={2} aria-label={label} title={only} onClick={onClick}>
      <bdi>{children}</bdi>
    </UnstyledButton>
  );
}

/** What the entry is about: by the name that it has now, with its page; and for which customer or of which table. */
function useSubject() {
  const { orders } = useText();
  const labelOf = useLabels();
  const [verbOf, forWhom] = [useVerb(), useFor()];
  return (entry: Entry): { readonly to?: string; readonly words: string; readonly more?: string } => {
    const { name, table, order_id: order, record_id: record, webhook_id: webhook, user_id: user, customer } = entry;
    if (order !== null) {
      const words = name ?? `${orders.one} ${order.slice(0, 8)}`;
      return { to: `/orders/${order}`, words, ...(customer !== null && { more: `${forWhom} ${customer}` }) };
    }
    if (webhook !== null) return { to: `/webhooks/${webhook}`, words: name ?? webhook };
    if (table === null) return { words: verbOf(entry.kind).length > 1 ? (name ?? user ?? entry.client_id ?? '') : '' };
    if (record === null) return { to: `/tables/${table}`, words: labelOf(table) };
    return { to: `/tables/${table}/records/${record}`, words: name ?? record, more: `(${labelOf(table)})` };
  };
}

function Subject({ entry }: { readonly entry: Entry }) {
  const { to, words } = useSubject()(entry);
  const name = <bdi>{words}</bdi>;
  return to === undefined ? name : <Link to={to}>{name}</Link>;
}
