/** What a table and its fields are called in each language; fields of its own can be retired and taken back. */
import { Group } from '@mantine/core';
import { useState } from 'react';
import { type AssetType, api, bodyOf } from '../api/client';
import { Act, Confirm, FormDialog, TextField } from '../app/Dialogs';
import { languages, useText } from '../app/language';
import { writableFields } from '../orders/draft';

type Props = { readonly type: AssetType; readonly onClose: () => void };

type Labels = { readonly [field: string]: { readonly [language: string]: string | undefined } };
/** In the place of a field's name. */
const TABLE = '';

export function Fields({ type, onClose }: Props) {
  const text = useText();
  const [labels, setLabels] = useState<Labels>({ [TABLE]: type.labels.table, ...type.labels.fields });
  const save = async () => {
    const { [TABLE]: table = {}, ...fields } = labels;
    const params = { path: { table: type.name } };
    await bodyOf(api.PUT('/api/v1/platform/asset-types/{table}/labels', { params, body: { table, fields } as object }));
    onClose();
  };
  const retire = (field: string, retired: boolean) => () => {
    const params = { path: { table: type.name, field } };
    return bodyOf(api.PUT('/api/v1/platform/asset-types/{table}/fields/{field}', { params, body: { retired } }));
  };
  const isRetired = (field: string): boolean => type.retired.some(({ name }) => name === field);
  const all = [{ name: TABLE, label: type.label, custom: false }, ...writableFields(type, 'id'), ...type.retired];
  return (
    <FormDialog title={text.tables.labels} label={text.common.save} act={save} onClose={onClose} size="lg">
      {() =>
        all.map((field) => (
          <Group key={field.name} align="flex-end" wrap="nowrap" title={field.name}>
            {languages.map(({ value: language, label }) => (
              <TextField
                key={language}
                flex={1}
                label={`${field.label} (${label})`}
                value={labels[field.name]?.[language] ?? ''}
                onText={(to) =>
                  setLabels({ ...labels, [field.name]: { ...labels[field.name], [language]: to || undefined } })
                }
              />
            ))}
            {isRetired(field.name) && <Act label={text.tables.takeBack} act={retire(field.name, false)} />}
            {field.custom && !isRetired(field.name) && field.name !== type.unique_field && (
              <Confirm
                label={text.tables.retire}
                of={field.label}
                why={text.tables.retireWhy}
                act={retire(field.name, true)}
              />
            )}
          </Group>
        ))
      }
    </FormDialog>
  );
}
