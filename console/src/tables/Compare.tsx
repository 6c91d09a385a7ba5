/** What differs in a table between two moments. */
import { Badge, Button, Group, Table, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { type AnswerOf, type AnyRecord, answerOf, api } from '../api/client';
import { tableInfoQuery } from '../api/queries';
import { titleOf, valueText } from '../app/DataTable';
import { useNumber, useText } from '../app/language';
import { MomentInput } from '../app/MomentInput';
import { Empty, Loaded, More, Page } from '../app/Page';
import type { CompareSearch } from '../routes';
import { Changed } from './Differences';

export function Compare() {
  const { table } = getRouteApi('/tables/$table/compare').useParams();
  const text = useText();
  const number = useNumber();
  const type = useQuery(tableInfoQuery(table)).data;
  const given: CompareSearch = getRouteApi('/tables/$table/compare').useSearch();
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [asked, setAsked] = useState<CompareSearch | undefined>(given.from === undefined ? undefined : given);
  const compared = useInfiniteQuery({
    queryKey: ['compare', table, asked],
    enabled: asked !== undefined,
    queryFn: async ({ pageParam }) => {
      const query = { from: asked?.from, to: asked?.to, cursor: pageParam } as object;
      const { body } = await answerOf(
        api.GET('/api/v1/platform/tables/{table}/compare', { params: { path: { table }, query } as never }),
      );
      return body as AnswerOf<'platformCompareMoments'>;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta?.next_cursor ?? undefined,
  });
  const labels = new Map(type?.fields.map(({ name, label }) => [name, label]));
  return (
    <Page title={`${type?.label ?? table}: ${text.tables.compare}`}>
      <Group
        component="form"
        align="flex-end"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked({ from, to: to === '' ? new Date().toISOString() : to });
        }}
      >
        <MomentInput required label={text.common.from} value={from} onChange={setFrom} />
        <MomentInput label={`${text.common.to} (${text.tables.now})`} value={to} onChange={setTo} />
        <Button type="submit">{text.tables.compareDo}</Button>
      </Group>
      {asked !== undefined && (
        <Loaded query={compared}>
          {({ pages }) => {
            const differences = pages.flatMap(({ data }) => data);
            if (differences.length === 0) return <Empty>{text.tables.noDifferences}</Empty>;
            return (
              <>
                <Table aria-label={text.tables.differences}>
                  <Table.Tbody>
                    {differences.map(({ id, change, before, after }) => (
                      <Table.Tr key={id}>
                        <Table.Td w="8rem" valign="top">
                          <Badge variant="dot" tt="none">
                            {text.tables.change[change]}
                          </Badge>
                        </Table.Td>
                        <Table.Td>
                          <Changes labels={labels} before={before} after={after} />
                        </Table.Td>
                      </Table.Tr>
                    ))}
                  </Table.Tbody>
                </Table>
                <Text size="sm">{number(differences.length)}</Text>
              </>
            );
          }}
        </Loaded>
      )}
      <More list={compared} />
    </Page>
  );
}

type ChangesProps = {
  readonly labels: ReadonlyMap<string, string>;
  readonly before: { readonly [field: string]: unknown } | null;
  readonly after: { readonly [field: string]: unknown } | null;
};

function Changes({ labels, before, after }: ChangesProps) {
  const named: AnyRecord = (after ?? before ?? { id: '' }) as AnyRecord;
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = names.filter(
    (name) => name !== 'updated_at' && valueText(before?.[name]) !== valueText(after?.[name]),
  );
  return (
    <>
      <Text fw={600}>
        <bdi>{titleOf(named)}</bdi>
      </Text>
      {before !== null &&
        after !== null &&
        changed.map((name) => (
          <Changed key={name} label={labels.get(name) ?? name} from={before[name]} to={after[name]} />
        ))}
    </>
  );
}
