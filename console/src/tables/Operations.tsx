/** What programs and imports did to a table: each batch, clean-up and undo; admins undo them. */
import { Badge, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { api, bodyOf } from '../api/client';
import { tableInfoQuery } from '../api/queries';
import { Cut } from '../app/DataTable';
import { useNumber, useText, When } from '../app/language';
import { Empty, Loaded, More, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { usePages } from '../app/usePages';
import { useRoles } from '../app/useRoles';
import type { OperationsSearch } from '../routes';
import { Undo } from './Undo';

export function Operations() {
  const { table } = getRouteApi('/tables/$table/operations').useParams();
  const search: OperationsSearch = getRouteApi('/tables/$table/operations').useSearch();
  const { tables: text, common } = useText();
  const navigate = useNavigate();
  const label = useQuery(tableInfoQuery(table)).data?.label ?? table;
  return (
    <Page title={`${label}: ${text.operations}`}>
      {search.batch !== undefined && (
        <Group>
          <Text size="sm" className="text">
            {text.ofSync} <span className="mono">{search.batch}</span>
          </Text>
          <Button size="compact-sm" variant="default" onClick={() => void navigate({ to: '.', search: {} as never })}>
            {common.clearFilters}
          </Button>
        </Group>
      )}
      <OperationList table={table} batch={search.batch} />
    </Page>
  );
}

function OperationList({ table, batch }: { readonly table: string; readonly batch: string | undefined }) {
  const text = useText();
  const number = useNumber();
  const { isAdmin } = useRoles();
  const list = usePages(['operations', table, batch], async (cursor) =>
    bodyOf(
      api.GET('/api/v1/platform/tables/{table}/operations', {
        params: { path: { table }, query: { cursor, batch_id: batch } as object },
      }),
    ),
  );
  return (
    <>
      <Loaded query={list}>
        {({ pages }) => {
          const operations = pages.flatMap(({ data }) => data);
          if (operations.length === 0) return <Empty>{text.tables.noOperations}</Empty>;
          return (
            <Rows
              label={text.tables.operations}
              heads={[
                { label: text.activity.when },
                { label: text.activity.what },
                { label: text.tables.by, isText: true },
                { label: text.tables.batch, isText: true },
                { label: text.tables.counts, isNumber: true },
                ...(isAdmin ? [{ label: text.common.actions }] : []),
              ]}
              rows={operations.map(
                ({ operation_id: id, kind, at, actor, batch_ids: batches, created, updated, deleted }) => ({
                  id,
                  cells: [
                    <When key="at" at={at} />,
                    <Badge key="kind">{text.tables.kind[kind]}</Badge>,
                    <bdi key="by">{actor.name ?? actor.id}</bdi>,
                    batches.length === 1 ? (
                      <Link
                        key="batch"
                        to="/tables/$table/operations"
                        params={{ table }}
                        search={{ batch: batches[0] ?? '' }}
                      >
                        <Cut>{batches[0]}</Cut>
                      </Link>
                    ) : (
                      <Cut key="batch">{batches.join(', ')}</Cut>
                    ),
                    `${number(created)} / ${number(updated)} / ${number(deleted)}`,
                    kind !== 'undo' && (
                      <Undo key="undo" of={{ table, id, name: `${text.tables.kind[kind]} ${batches.join(', ')}` }} />
                    ),
                  ],
                }),
              )}
            />
          );
        }}
      </Loaded>
      <More list={list} />
    </>
  );
}
