/** Undoes a batch or a clean-up: first what that would do and what is in its way, then piece by piece. */
import { Alert, Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { useNumber, useText } from '../app/language';
import { Loaded, Problem } from '../app/Page';

type Of = { readonly table: string; readonly id: string };
type Outcome = Pick<Schemas['UndoResult'], 'restored' | 'deleted' | 'left'>;

/** Records that are named. */
const MAX_NAMED = 20;

async function undo({ table, id }: Of, isDryRun: boolean, signal: AbortSignal): Promise<Outcome> {
  let sum: Outcome = { restored: 0, deleted: 0, left: [] };
  for (let body = {}; ; ) {
    const params = { path: { table, operation_id: id }, query: isDryRun ? { dry_run: true } : {} };
    const { data } = await bodyOf(
      api.POST('/api/v1/platform/tables/{table}/operations/{operation_id}/undo', { params, body, signal }),
    );
    sum = {
      restored: sum.restored + data.restored,
      deleted: sum.deleted + data.deleted,
      left: [...sum.left, ...data.left],
    };
    if (data.next === null) return sum;
    body = { after: data.next };
  }
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
    mutationFn: () => undo(of, false, stop.current.signal),
    onSettled: () =>
      Promise.all(['records', 'operations'].map((key) => client.invalidateQueries({ queryKey: [key, of.table] }))),
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
  const { restored, deleted, left } = outcome;
  return (
    <>
      <Text fw={600}>{title}</Text>
      <List size="sm">
        <List.Item>{text.restored(number(restored))}</List.Item>
        <List.Item>{text.deletedAgain(number(deleted))}</List.Item>
      </List>
      {left.length > 0 && (
        <Alert color="orange" title={text.leftAlone(number(left.length))}>
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
