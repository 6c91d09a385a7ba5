/** What programs, imports and people did to a table: each batch, clean-up, deletion and undo; admins undo them. */
import { Badge, Button } from '@mantine/core';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { api, bodyOf } from '../api/client';
import { useNumber, useText, When } from '../app/language';
import { Listed, Page } from '../app/Page';
import { Cut, Rows } from '../app/Rows';
import { usePages } from '../app/usePages';
import { useRoles } from '../app/useRoles';
import type { OperationsSearch } from '../routes';
import { useLabels } from './Differences';
import { Undo } from './Undo';

export function Operations() {
  const { table } = getRouteApi('/tables/$table/operations').useParams();
  const search: OperationsSearch = getRouteApi('/tables/$table/operations').useSearch();
  const { tables: text, common, activity } = useText();
  const navigate = useNavigate();
  const number = useNumber();
  const { isAdmin } = useRoles();
  const labelOf = useLabels();
  const list = usePages(['operations', table, search.batch], async (cursor) =>
    bodyOf(
      api.GET('/api/v1/platform/tables/{table}/operations', {
        params: { path: { table }, query: { cursor, batch_id: search.batch } as object },
      }),
    ),
  );
  return (
    <Page
      title={`${labelOf(table)}: ${text.operations}`}
      actions={
        search.batch !== undefined && (
          <>
            <Button size="xs" variant="default" onClick={() => void navigate({ to: '.', search: {} as never })}>
              {common.clearFilters}
            </Button>
            {isAdmin && <Undo of={{ table, sync: search.batch, name: search.batch }} />}
          </>
        )
      }
    >
      <Listed list={list} none={text.noOperations}>
        {(operations) => (
          <Rows
            label={text.operations}
            heads={[
              { label: activity.when },
              { label: activity.what },
              { label: text.by, isText: true },
              { label: text.batch, isText: true },
              { label: text.counts, isNumber: true },
              ...(isAdmin ? [{ label: common.actions }] : []),
            ]}
            rows={operations.map(
              ({ operation_id: id, kind, at, actor, batch_ids: batches, created, updated, deleted }) => ({
                id,
                cells: [
                  <When key="at" at={at} />,
                  <Badge key="kind">{text.kind[kind]}</Badge>,
                  <bdi key="by">{actor.name ?? actor.id}</bdi>,
                  batches.map((batch) => (
                    <Link key={batch} to="/tables/$table/operations" params={{ table }} search={{ batch }}>
                      <Cut>{batch}</Cut>
                    </Link>
                  )),
                  `${number(created)} / ${number(updated)} / ${number(deleted)}`,
                  kind !== 'undo' && (
                    <Undo key="undo" of={{ table, id, name: `${text.kind[kind]} ${batches.join(', ')}` }} />
                  ),
                ],
              }),
            )}
          />
        )}
      </Listed>
    </Page>
  );
}
