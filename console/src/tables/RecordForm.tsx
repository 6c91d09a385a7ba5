/** Adds a record to a reference table, changes it as it was shown, or deletes it; and the links of what records name. */
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type AnyRecord, ApiError, type AssetType, answerOf, api, bodyOf } from '../api/client';
import { Confirm, FormDialog } from '../app/Dialogs';
import { useText } from '../app/language';
import { Cut, titleOf, valueText } from '../app/Rows';
import {
  type Both,
  bodyOfDraft,
  type Fields,
  mergeDraft,
  NO_DRAFT,
  referenceOf,
  withField,
  writableFields,
} from '../orders/draft';
import { FieldInput, nameOf, pickedKey, recordsOf } from '../orders/FieldInput';
import { Conflict } from '../orders/Problems';

const PATH = '/api/v1/platform/tables/{table}/assets/{asset_id}';

/** A record, and the tag that it had then. */
type Read = { readonly record: AnyRecord; readonly tag?: string | null };
const NEW: Read = { record: { id: '' } };

/** @returns null for a record that was deleted, which still has its history */
export async function readRecord(table: string, id: string): Promise<Read | null> {
  try {
    const { body, tag } = await answerOf(api.GET(PATH, { params: { path: { table, asset_id: id } } }));
    return { record: body.data as AnyRecord, tag };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

const unlessChanged = ({ tag }: Read) => (typeof tag === 'string' ? { 'If-Match': tag } : {});

type Props = { readonly type: AssetType; readonly read?: Read; readonly onClose: () => void };

export function RecordForm({ type, read: opened = NEW, onClose }: Props) {
  const { tables: text, common, signIn } = useText();
  const [read, setRead] = useState(opened);
  const [draft, setDraft] = useState(NO_DRAFT);
  /** Since a save that others' changes were in the way of. */
  const [both, setBoth] = useState<readonly Both[] | undefined>();
  const { record } = read;
  const isNew = opened === NEW;
  const set = (field: string, value: unknown) => setDraft((before) => withField(before, record, field, value));
  const save = async () => {
    const path = { table: type.name, asset_id: record.id };
    try {
      const body: object = bodyOfDraft(draft, {});
      await (isNew
        ? bodyOf(api.POST('/api/v1/platform/tables/{table}/assets', { params: { path }, body }))
        : bodyOf(api.PUT(PATH, { params: { path }, headers: unlessChanged(read), body })));
      onClose();
    } catch (error) {
      const isConflict = error instanceof ApiError && error.status === 412;
      const theirs = isConflict ? await readRecord(type.name, record.id) : null;
      if (theirs === null) throw error;
      setBoth(mergeDraft(draft, record, theirs.record).both);
      setRead(theirs);
    }
  };
  const now: AnyRecord = { ...record, ...draft.fields };
  return (
    <FormDialog
      title={isNew ? `${type.label}: ${text.addRecord}` : `${common.edit}: ${titleOf(record)}`}
      label={isNew ? common.add : common.save}
      act={save}
      onClose={onClose}
      isReady={draft !== NO_DRAFT}
      size="lg"
    >
      {(errorOf) => (
        <>
          {both !== undefined && (
            <Conflict
              both={both}
              now={now}
              names={new Map()}
              table={type.name}
              title={signIn.changedSince}
              onChoose={({ field }, value) => set(field, value)}
            />
          )}
          {writableFields(type, 'id').map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              reference={referenceOf(type, field)}
              of={{}}
              value={now[field.name]}
              error={errorOf(field.name)}
              onChange={(value) => set(field.name, value)}
            />
          ))}
        </>
      )}
    </FormDialog>
  );
}

export function DeleteRecord({ type, read }: { readonly type: AssetType; readonly read: Read }) {
  const text = useText().tables;
  const { record } = read;
  const params = { path: { table: type.name, asset_id: record.id } };
  return (
    <Confirm
      label={text.deleteRecord}
      of={titleOf(record)}
      why={text.deleteWhy}
      act={() => bodyOf(api.DELETE(PATH, { params, headers: unlessChanged(read) }))}
    />
  );
}

/** The link of a field's value; undefined if it names no record that is there. */
export type LinkOf = (field: string, value: string) => ReactNode | undefined;

export function useReferences({ relationships }: AssetType, records: readonly Fields[]): LinkOf {
  const client = useQueryClient();
  const references = relationships.filter(({ kind }) => kind === 'belongs_to');
  const found = useQueries({
    queries: references.map(({ table, key, field }) => {
      const values = [...new Set(records.map((record) => valueText(record[field])))].filter((value) => value !== '');
      const listed = values.map((value) => value.replaceAll(',', '\\,')).join(',');
      return {
        queryKey: ['records', table, 'named', key, listed],
        enabled: listed !== '',
        queryFn: async () => {
          const one = async (id: string) => (await readRecord(table, id))?.record ?? [];
          const all = () => recordsOf(table, { perPage: values.length, [`filter[${key}][in]`]: listed });
          // Lists are not filtered by id.
          const named = key === 'id' ? (await Promise.all(values.map(one))).flat() : await all();
          // Forms show what is picked by its name.
          for (const each of named) client.setQueryData(pickedKey(table, valueText(each[key])), each);
          return named;
        },
      };
    }),
  });
  return (name, value) => {
    const at = references.findIndex(({ field }) => field === name);
    const { table = '', key = '' } = references[at] ?? {};
    const record = found[at]?.data?.find((each) => each[key] === value);
    if (record === undefined) return undefined;
    return (
      <Link to="/tables/$table/records/$recordId" params={{ table, recordId: record.id }}>
        <Cut>{nameOf(record)}</Cut>
      </Link>
    );
  };
}
