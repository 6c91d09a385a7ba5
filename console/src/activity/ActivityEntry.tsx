/** One entry of the activity: the request behind it, and a link to what it changed. */
import { Anchor, Code, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, bodyOf, dataOf } from '../api/client';
import { valueText } from '../app/DataTable';
import { useText, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import { type Entry, Subject } from './Activity';
import { useKindWords } from './words';

export function ActivityEntryPage() {
  const { entryId } = getRouteApi('/activity/$entryId').useParams();
  const text = useText();
  const wordsOf = useKindWords();
  const titleOf = ({ actor, kind }: Entry): string => `${actor.name ?? actor.id} ${wordsOf(kind)}`;
  // An entry is found by the page that begins with it.
  const entry = useQuery({
    queryKey: ['activity', 'one', entryId],
    queryFn: async () => {
      const { data } = await bodyOf(
        api.GET('/api/v1/platform/activity', { params: { query: momentOf(entryId) as object } }),
      );
      return data.find(({ id }) => id === entryId) ?? null;
    },
  });
  return (
    <Page title={entry.data === undefined || entry.data === null ? text.activity.title : titleOf(entry.data)}>
      <Loaded query={entry}>{(of) => (of === null ? null : <EntryFacts entry={of} />)}</Loaded>
    </Page>
  );
}

/** The second in which the entry with this id happened: its id begins with it. */
function momentOf(id: string): { readonly from: string; readonly to: string; readonly limit: number } {
  const [, year, month, day, hour, minute, second, micro] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{6})/.exec(id) ?? [];
  const at = `${year}-${month}-${day}T${hour}:${minute}:${second}.${micro}Z`;
  return { from: at, to: at, limit: 100 };
}

function EntryFacts({ entry }: { readonly entry: Entry }) {
  const { activity: text, tables, webhooks } = useText();
  const rows = [
    [text.kind, entry.kind],
    [text.when, <When key="when" at={entry.occurred_at} long />],
    [text.who, <bdi key="who">{`${entry.actor.name ?? ''} (${entry.actor.kind} ${entry.actor.id})`}</bdi>],
    [text.on, <Subject key="on" entry={entry} />],
    [
      text.request,
      entry.request === null ? '' : `${entry.request.method} ${entry.request.path} (${entry.request.request_id})`,
    ],
    [text.operation, entry.operation_id],
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
    ...Object.entries(entry.details).map(([name, value]) => [name, valueText(value)] as const),
  ] as const;
  return (
    <>
      <Facts label={entry.kind} facts={rows.filter(([, value]) => value)} />
      <Proof event={entry.event_id} />
    </>
  );
}

/** What the proof says, in words, and the proof itself for a program that checks it. */
export function Proof({ event }: { readonly event: string }) {
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
