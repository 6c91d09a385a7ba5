/** Undoes a batch, a clean-up or a deletion, piece by piece, and shows what that did and what it left alone. */
import { Alert, List, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { FormDialog, Opens } from '../app/Dialogs';
import { useNumber, useText } from '../app/language';

/** `name`: what is undone. */
type Of = { readonly table: string; readonly id: string; readonly name: string };
type Outcome = Pick<Schemas['UndoResult'], 'restored' | 'deleted' | 'left'>;

/** Records that are named. */
const MAX_NAMED = 20;

async function undo({ table, id }: Of, signal: AbortSignal): Promise<Outcome> {
  let sum: Outcome = { restored: 0, deleted: 0, left: [] };
  for (let body = {}; ; ) {
    const params = { path: { table, operation_id: id } };
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
      <Text size="sm">{text.deletedAgain(number(deleted))}</Text>
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
