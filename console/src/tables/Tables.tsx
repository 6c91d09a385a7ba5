/** All tables of the tenant; admins add tables of their own. */
import { Button, Checkbox, Group, Select, Stack, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { operations } from '../../generated/schema';
import { type AssetType, api, bodyOf } from '../api/client';
import { assetTypesQuery, tableSummariesQuery } from '../api/queries';
import { FormDialog, Opens, TextField } from '../app/Dialogs';
import { useNumber, useText, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { useRoles } from '../app/useRoles';

type NewField = operations['platformAddField']['requestBody']['content']['application/json'];

export function Tables() {
  const text = useText().tables;
  const { isAdmin } = useRoles();
  const add = isAdmin && (
    <Opens label={text.addTable} size="sm" variant="filled">
      {(close) => <AddTable onClose={close} />}
    </Opens>
  );
  const kinds = [
    { kind: 'reference', title: text.reference },
    { kind: 'master', title: text.master },
  ];
  return (
    <Page title={text.title} actions={add}>
      <Loaded query={useQuery(assetTypesQuery)}>
        {(tables) =>
          kinds.map(({ kind, title }) => (
            <Stack key={kind} gap="xs">
              <Title order={2} size="h4">
                {title}
              </Title>
              <TableList label={title} tables={tables.filter((table) => table.kind === kind)} />
            </Stack>
          ))
        }
      </Loaded>
    </Page>
  );
}

function TableList({ label, tables }: { readonly label: string; readonly tables: readonly AssetType[] }) {
  const text = useText().tables;
  const number = useNumber();
  // The list does not wait for it.
  const summaries = new Map(useQuery(tableSummariesQuery).data?.map((each) => [each.name, each]));
  return (
    <Rows
      label={label}
      minWidth={700}
      heads={[
        { label: text.one },
        { label: text.records, isNumber: true },
        { label: text.lastWritten },
        { label: text.technicalName },
        { label: text.fields, isNumber: true },
        { label: text.unique },
      ]}
      rows={tables.map((table) => ({
        id: table.name,
        cells: [
          <Link key="one" to="/tables/$table" params={{ table: table.name }}>
            <bdi>{table.label}</bdi>
          </Link>,
          number(summaries.get(table.name)?.records),
          <When key="written" at={summaries.get(table.name)?.last_written_at} />,
          <span key="name" className="mono">
            {table.name}
          </span>,
          table.fields.length,
          <span key="unique" className="mono">
            {table.unique_field}
          </span>,
        ],
      }))}
    />
  );
}

const TYPES: readonly NewField['type'][] = ['String', 'LongText', 'Integer', 'Decimal', 'Date', 'DateTime', 'Boolean'];
const NO_FIELD: NewField = { name: '', type: 'String', filterable: true, sortable: true, required: false };

function FieldForm({ field, onChange }: { readonly field: NewField; readonly onChange: (field: NewField) => void }) {
  const text = useText().tables;
  return (
    <Group align="flex-end" gap="xs">
      <TextField
        label={text.technicalName}
        required
        value={field.name}
        onText={(name) => onChange({ ...field, name })}
      />
      <Select
        label={text.type}
        data={[...TYPES]}
        value={field.type}
        allowDeselect={false}
        w={120}
        onChange={(type) => onChange({ ...field, type: type as NewField['type'] })}
      />
      <Stack gap={4}>
        {(['required', 'filterable', 'sortable'] as const).map((name) => (
          <Checkbox
            key={name}
            label={text[name]}
            checked={field[name] === true}
            onChange={({ currentTarget }) => onChange({ ...field, [name]: currentTarget.checked })}
          />
        ))}
      </Stack>
    </Group>
  );
}

function AddTable({ onClose }: { readonly onClose: () => void }) {
  const text = useText();
  const client = useQueryClient();
  const [name, setName] = useState('dyn_');
  const [label, setLabel] = useState('');
  const [fields, setFields] = useState<readonly NewField[]>([{ ...NO_FIELD, name: 'external_id', required: true }]);
  const [unique, setUnique] = useState<string | null>('external_id');
  const add = async () => {
    const named = { ...(label === '' ? {} : { label }), ...(unique === null ? {} : { unique_field: unique }) };
    await bodyOf(api.POST('/api/v1/platform/asset-types', { body: { name, ...named, fields: [...fields] } }));
    onClose();
    await client.invalidateQueries({ queryKey: assetTypesQuery.queryKey });
  };
  return (
    <FormDialog title={text.tables.addTable} label={text.common.add} act={add} onClose={onClose} size="xl">
      {() => (
        <>
          <TextField
            label={text.tables.technicalName}
            description={text.tables.technicalHint}
            required
            value={name}
            onText={setName}
          />
          <TextField label={text.tables.label} value={label} onText={setLabel} />
          {fields.map((field, at) => (
            <FieldForm
              // biome-ignore lint/suspicious/noArrayIndexKey: fields have no identity before they are added
              key={at}
              field={field}
              onChange={(next) => setFields(fields.map((each, i) => (i === at ? next : each)))}
            />
          ))}
          <Group>
            <Button size="xs" variant="default" onClick={() => setFields([...fields, NO_FIELD])}>
              {text.tables.addField}
            </Button>
          </Group>
          <Select
            label={text.tables.unique}
            data={fields.filter((field) => field.name !== '').map((field) => field.name)}
            value={unique}
            clearable
            onChange={setUnique}
          />
        </>
      )}
    </FormDialog>
  );
}

export function AddField({ table, onClose }: { readonly table: string; readonly onClose: () => void }) {
  const text = useText();
  const client = useQueryClient();
  const [field, setField] = useState<NewField>(NO_FIELD);
  const add = async () => {
    await bodyOf(api.POST('/api/v1/platform/asset-types/{table}/fields', { params: { path: { table } }, body: field }));
    onClose();
    await Promise.all(
      [assetTypesQuery.queryKey, ['info', table]].map((queryKey) => client.invalidateQueries({ queryKey })),
    );
  };
  return (
    <FormDialog title={text.tables.addField} label={text.common.add} act={add} onClose={onClose} size="lg">
      {() => <FieldForm field={field} onChange={setField} />}
    </FormDialog>
  );
}
