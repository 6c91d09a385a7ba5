/** What programs, imports and people did to a table: each batch, clean-up, deletion and undo; and the undo of each by admins. */
import { Alert, Badge, Button, List, Text } from '@mantine/core';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { readAll, usePages, useRoles } from '../api/queries';
import { FormDialog, Opens } from '../app/Dialogs';
import { useNumber, useText, When } from '../app/language';
import { Listed, Page } from '../app/Page';
import { Cut, Rows } from '../app/Rows';
import type { OperationsSearch } from '../routes';
import { TableLink, useLabels } from './Differences';

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
  const actions = (
    <>
      <TableLink table={table} />
      {search.batch !== undefined && (
        <Button size="xs" variant="default" onClick={() => void navigate({ to: '.', search: {} as never })}>
          {common.clearFilters}
        </Button>
      )}
      {search.batch !== undefined && isAdmin && <Undo of={{ table, sync: search.batch, name: search.batch }} />}
    </>
  );
  return (
    <Page title={`${labelOf(table)}: ${text.operations}`} actions={actions}>
      <Listed list={list} none={text.noOperations}>
        {(operations) => (
          <Rows
            label={text.operations}
            heads={[
              activity.when,
              activity.what,
              { label: text.by, isText: true },
              { label: text.batch, isText: true },
              { label: text.counts, isNumber: true },
              ...(isAdmin ? [common.actions] : []),
            ]}
            rows={operations.map(({ operation_id: id, kind, actor, batch_ids: batches, ...of }) => ({
              id,
              cells: [
                <When key="at" at={of.at} />,
                <Badge key="kind">{text.kind[kind]}</Badge>,
                <bdi key="by">{actor.name ?? actor.id}</bdi>,
                batches.map((batch) => (
                  <Link key={batch} to="/tables/$table/operations" params={{ table }} search={{ batch }}>
                    <Cut>{batch}</Cut>
                  </Link>
                )),
                `${number(of.created)} / ${number(of.updated)} / ${number(of.deleted)}`,
                kind !== 'undo' && (
                  <Undo key="undo" of={{ table, id, name: `${text.kind[kind]} ${batches.join(', ')}` }} />
                ),
              ],
            }))}
          />
        )}
      </Listed>
    </Page>
  );
}

/** `name`: what is undone: the operation of this id, or all of a sync. */
type Of = { readonly table: string; readonly name: string } & ({ readonly id: string } | { readonly sync: string });
type Outcome = Pick<Schemas['UndoResult'], 'restored' | 'deleted' | 'left'>;

/** Records that are named. */
const MAX_NAMED = 20;

async function undo(of: Of, signal: AbortSignal): Promise<Outcome> {
  const sum = { restored: 0, deleted: 0, left: [] as Outcome['left'] };
  for (const operation_id of 'id' in of ? [of.id] : await operationsOf(of.table, of.sync, signal))
    for (let after: string | null | undefined; after !== null; ) {
      const params = { path: { table: of.table, operation_id } };
      const body = after === undefined ? {} : { after };
      const { data } = await bodyOf(
        api.POST('/api/v1/platform/tables/{table}/operations/{operation_id}/undo', { params, body, signal }),
      );
      sum.restored += data.restored;
      sum.deleted += data.deleted;
      sum.left = [...sum.left, ...data.left];
      after = data.next;
    }
  return sum;
}

/** The batches of a sync and its clean-up, the newest first. */
async function operationsOf(table: string, sync: string, signal: AbortSignal): Promise<readonly string[]> {
  const all = await readAll((cursor) => {
    const params = { path: { table }, query: { cursor, batch_id: sync } as object };
    return bodyOf(api.GET('/api/v1/platform/tables/{table}/operations', { params, signal }));
  });
  return all.filter(({ kind }) => kind !== 'undo').map(({ operation_id }) => operation_id);
}

export function Undo({ of }: { readonly of: Of }) {
  return <Opens label={useText().tables.undo}>{(close) => <UndoDialog of={of} onClose={close} />}</Opens>;
}

function UndoDialog({ of, onClose }: { readonly of: Of; readonly onClose: () => void }) {
  const text = useText().tables;
  const [outcome, setOutcome] = useState<Outcome | undefined>();
  const [stop] = useState(() => new AbortController());
  useEffect(() => () => stop.abort(), [stop]);
  return (
    <FormDialog
      title={`${text.undo}: ${of.name}`}
      label={text.undo}
      act={async () => setOutcome(await undo(of, stop.signal))}
      onClose={onClose}
      isDone={outcome !== undefined}
      color="red"
      size="lg"
    >
      {() => (outcome === undefined ? <Text>{text.undoes}</Text> : <Outcome outcome={outcome} />)}
    </FormDialog>
  );
}

function Outcome({ outcome }: { readonly outcome: Outcome }) {
  const text = useText().tables;
  const number = useNumber();
  const { restored, deleted, left } = outcome;
  return (
    <>
      <Text fw={600}>{text.undone}</Text>
      <Text size="sm">{text.restored(number(restored))}</Text>
      <Text size="sm">{text.createdAndDeleted(number(deleted))}</Text>
      {left.length > 0 && (
        <Alert color="orange" title={text.notUndone(number(left.length))}>
          <List size="sm">
            {left.slice(0, MAX_NAMED).map(({ id, key, reason }) => (
              <List.Item key={id} className="text">
                <bdi>{key}</bdi>: {text.leftWhy[reason]}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
    </>
  );
}
