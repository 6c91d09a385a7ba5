/** Undoes a batch, a clean-up or a whole sync session: first what that would do and what is in its way, then piece by piece. */
import { Alert, Button, Group, List, Modal, Progress, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { useNumber, useText } from '../app/language';
import { Loaded, Problem } from '../app/Page';

type Of = { readonly table: string; readonly kind: 'sync' | 'operation'; readonly id: string };
type Outcome = Pick<Schemas['UndoResult'], 'restored' | 'deleted' | 'left' | 'left_in_all' | 'unavailable'>;

/** Records that are named; the service counts all. */
const MAX_NAMED = 20;

/** @param onPiece given the share that is done, 0 to 1 */
async function undo(
  { table, kind, id }: Of,
  isDryRun: boolean,
  signal: AbortSignal,
  onPiece: (done: number) => void = () => undefined,
): Promise<Outcome> {
  let sum: Outcome = { restored: 0, deleted: 0, left: [], left_in_all: 0, unavailable: 0 };
  let after: string | undefined;
  do {
    const query = isDryRun ? { dry_run: true } : {};
    const body = after === undefined ? {} : { after };
    const one =
      kind === 'sync'
        ? api.POST('/api/v1/platform/tables/{table}/syncs/{sync_id}/undo', {
            params: { path: { table, sync_id: id }, query },
            body,
            signal,
          })
        : api.POST('/api/v1/platform/tables/{table}/operations/{operation_id}/undo', {
            params: { path: { table, operation_id: id }, query },
            body,
            signal,
          });
    const { data } = await bodyOf(one);
    sum = {
      restored: sum.restored + data.restored,
      deleted: sum.deleted + data.deleted,
      left: [...sum.left, ...data.left].slice(0, MAX_NAMED),
      left_in_all: sum.left_in_all + data.left_in_all,
      unavailable: (sum.unavailable ?? 0) + (data.unavailable ?? 0),
    };
    const done = sum.restored + sum.deleted + sum.left_in_all;
    onPiece(done / Math.max(1, done + (data.remaining ?? done)));
    after = data.next ?? undefined;
  } while (after !== undefined);
  return sum;
}

export function Undo({ of }: { readonly of: Of }) {
  const text = useText().tables;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        {text.undo}
      </Button>
      {isOpen && <UndoDialog of={of} onClose={() => setOpen(false)} />}
    </>
  );
}

function UndoDialog({ of, onClose }: { readonly of: Of; readonly onClose: () => void }) {
  const { tables: text, common } = useText();
  const client = useQueryClient();
  const [done, setDone] = useState(0);
  const stop = useRef(new AbortController());
  useEffect(() => {
    const { current } = stop;
    return () => current.abort();
  }, []);
  const preview = useQuery({
    queryKey: ['undo', of],
    queryFn: ({ signal }) => undo(of, true, signal),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const work = useMutation({
    mutationFn: () => undo(of, false, stop.current.signal, setDone),
    onSettled: () =>
      Promise.all(
        ['records', 'operations', 'syncs'].map((key) => client.invalidateQueries({ queryKey: [key, of.table] })),
      ),
  });
  return (
    <Modal opened onClose={onClose} title={text.undo} size="lg" closeOnClickOutside={!work.isPending}>
      <Stack>
        {work.error !== null && <Problem error={work.error} />}
        {work.data !== undefined ? (
          <Outcome outcome={work.data} title={text.undone} />
        ) : (
          <Loaded query={preview}>{(outcome) => <Outcome outcome={outcome} title={text.wouldUndo} />}</Loaded>
        )}
        {work.isPending && <Progress value={done * 100} animated aria-label={text.undo} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {work.data === undefined ? common.cancel : common.close}
          </Button>
          {work.data === undefined && (
            <Button
              color="red"
              disabled={preview.data === undefined}
              loading={work.isPending}
              onClick={() => work.mutate()}
            >
              {text.undo}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

function Outcome({ outcome, title }: { readonly outcome: Outcome; readonly title: string }) {
  const text = useText().tables;
  const number = useNumber();
  const { restored, deleted, left, left_in_all: leftInAll, unavailable } = outcome;
  return (
    <>
      <Text fw={600}>{title}</Text>
      <List size="sm">
        <List.Item>{text.restored(number(restored))}</List.Item>
        <List.Item>{text.deletedAgain(number(deleted))}</List.Item>
      </List>
      {leftInAll > 0 && (
        <Alert color="orange" title={text.leftAlone(number(leftInAll))}>
          <List size="sm">
            {left.map(({ id, key, reason, fields }) => (
              <List.Item key={id} className="text">
                <bdi>{key ?? id}</bdi>: {text.leftWhy[reason]} {fields?.join(', ')}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      {(unavailable ?? 0) > 0 && <Alert color="orange">{text.unavailable(number(unavailable))}</Alert>}
    </>
  );
}
