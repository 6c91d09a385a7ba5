/** Adds a record to a reference table, or changes one: as a batch of one, which can be undone like all others. */
import { useState } from 'react';
import { type AnyRecord, type AssetType, api, bodyOf } from '../api/client';
import { SYSTEM_FIELDS, titleOf } from '../app/DataTable';
import { FormDialog } from '../app/Dialogs';
import { useText } from '../app/language';
import { ValueInput } from '../orders/ValueInput';

type Props = { readonly type: AssetType; readonly record?: AnyRecord; readonly onClose: () => void };

export function RecordForm({ type, record, onClose }: Props) {
  const { tables: text, common } = useText();
  const [draft, setDraft] = useState<{ readonly [field: string]: unknown }>({});
  const key = type.unique_field ?? '';
  const save = async () => {
    const items = [record === undefined ? draft : { [key]: record[key], ...draft }];
    const params = { path: { table: type.name } };
    await bodyOf(api.POST('/api/v1/platform/tables/{table}/assets/batch', { params, body: { items } }));
    onClose();
  };
  return (
    <FormDialog
      title={record === undefined ? `${type.label}: ${text.addRecord}` : `${common.edit}: ${titleOf(record)}`}
      label={record === undefined ? common.add : common.save}
      act={save}
      onClose={onClose}
      isReady={Object.keys(draft).length > 0}
      size="lg"
    >
      {(errorOf) =>
        type.fields
          .filter(({ name, read_only, list }) => !read_only && !list && !SYSTEM_FIELDS.includes(name))
          .map((field) => (
            <ValueInput
              key={field.name}
              field={field}
              reference={type.relationships.find(({ kind, field: of }) => kind === 'belongs_to' && of === field.name)}
              of={{}}
              value={field.name in draft ? draft[field.name] : record?.[field.name]}
              error={errorOf(`items.0.${field.name}`)}
              isDisabled={record !== undefined && field.name === key}
              onChange={(value) => setDraft({ ...draft, [field.name]: value })}
            />
          ))
      }
    </FormDialog>
  );
}
