/** What programs and imports did to a table: sync sessions as a whole, and each batch, clean-up and undo; admins undo them. */
import { Badge, Button, Group, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { api, bodyOf } from '../api/client';
import { tableInfoQuery } from '../api/queries';
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
  const show = (next: OperationsSearch) =>
    void navigate({ to: '/tables/$table/operations', params: { table }, search: next, replace: true });
  return (
    <Page title={`${label}: ${text.operations}`}>
      <Tabs
        value={search.list ?? 'each'}
        onChange={(list) => show(list === 'syncs' ? { list } : {})}
        keepMounted={false}
      >
        <Tabs.List>
          <Tabs.Tab value="each">{text.eachOperation}</Tabs.Tab>
          <Tabs.Tab value="syncs">{text.syncs}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="each" pt="md">
          {search.batch !== undefined && (
            <Group mb="xs">
              <Text size="sm" className="text">
                {text.ofSync} <span className="mono">{search.batch}</span>
              </Text>
              <Button size="compact-sm" variant="default" onClick={() => show({})}>
                {common.clearFilters}
              </Button>
            </Group>
          )}
          <OperationList table={table} batch={search.batch} />
        </Tabs.Panel>
        <Tabs.Panel value="syncs" pt="md">
          <SyncList table={table} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function OperationList({ table, batch }: { readonly table: string; readonly batch: string | undefined }) {
  const text = useText();
  const number = useNumber();
  const { isAdmin, isReader } = useRoles();
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
                { label: text.tables.counts, isNumber: true },
                ...(isAdmin ? [{ label: text.common.actions }] : []),
              ]}
              rows={operations.map(({ operation_id: id, kind, at, actor, created, updated, deleted }) => ({
                id,
                cells: [
                  isReader ? (
                    <Link key="at" to="/activity" search={{ table, operation: id }}>
                      <When at={at} />
                    </Link>
                  ) : (
                    <When key="at" at={at} />
                  ),
                  <Badge key="kind" variant="dot" tt="none">
                    {text.tables.kind[kind]}
                  </Badge>,
                  <bdi key="by">{actor.name ?? actor.id}</bdi>,
                  `${number(created)} / ${number(updated)} / ${number(deleted)}`,
                  kind !== 'undo' && <Undo key="undo" of={{ table, kind: 'operation', id }} />,
                ],
              }))}
            />
          );
        }}
      </Loaded>
      <More list={list} />
    </>
  );
}

function SyncList({ table }: { readonly table: string }) {
  const text = useText();
  const number = useNumber();
  const { isAdmin } = useRoles();
  const list = usePages(['syncs', table], async (cursor) =>
    bodyOf(
      api.GET('/api/v1/platform/tables/{table}/syncs', {
        params: { path: { table }, query: { cursor } as object },
      }),
    ),
  );
  return (
    <>
      <Loaded query={list}>
        {({ pages }) => {
          const syncs = pages.flatMap(({ data }) => data);
          if (syncs.length === 0) return <Empty>{text.tables.noSyncs}</Empty>;
          return (
            <Rows
              label={text.tables.syncs}
              minWidth={760}
              heads={[
                { label: text.tables.started },
                { label: text.common.status, isText: true },
                { label: text.tables.by, isText: true },
                { label: text.tables.deletedCount, isNumber: true },
                ...(isAdmin ? [{ label: text.common.actions }] : []),
              ]}
              rows={syncs.map((sync) => ({
                id: sync.id,
                cells: [
                  <Link key="at" to="/tables/$table/operations" params={{ table }} search={{ batch: sync.id }}>
                    <When at={sync.started_at} />
                  </Link>,
                  <>
                    <Badge variant="dot" tt="none" color={COLORS[sync.status]}>
                      {text.tables.syncState[sync.status]}
                    </Badge>{' '}
                    {sync.reason}
                  </>,
                  <bdi key="by">{sync.actor.name ?? sync.actor.id}</bdi>,
                  number(sync.deleted),
                  ['committed', 'expired', 'aborted'].includes(sync.status) && (
                    <Undo key="undo" of={{ table, kind: 'sync', id: sync.id }} />
                  ),
                ],
              }))}
            />
          );
        }}
      </Loaded>
      <More list={list} />
    </>
  );
}

const COLORS = { started: 'blue', committed: 'green', expired: 'gray', aborted: 'red' } as const;
