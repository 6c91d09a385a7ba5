/** All tables of the tenant; admins add tables of their own. */
import { Button, Checkbox, Group, Select, Stack, TextInput, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { operations } from '../../generated/schema';
import { type AssetType, api, bodyOf } from '../api/client';
import { assetTypesQuery, tableSummariesQuery } from '../api/queries';
import { FormDialog } from '../app/Dialogs';
import { useNumber, useText, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { useRoles } from '../app/useRoles';

type NewField = operations['platformAddField']['requestBody']['content']['application/json'];

export function Tables() {
  const text = useText().tables;
  const { isAdmin } = useRoles();
  const kinds = [
    { kind: 'reference', title: text.reference },
    { kind: 'master', title: text.master },
  ];
  return (
    <Page title={text.title} actions={isAdmin && <AddTable />}>
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
      <TextInput
        label={text.technicalName}
        required
        value={field.name}
        onChange={({ currentTarget }) => onChange({ ...field, name: currentTarget.value })}
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
        <Checkbox
          label={text.required}
          checked={field.required === true}
          onChange={({ currentTarget }) => onChange({ ...field, required: currentTarget.checked })}
        />
        <Checkbox
          label={text.filterable}
          checked={field.filterable === true}
          onChange={({ currentTarget }) => onChange({ ...field, filterable: currentTarget.checked })}
        />
        <Checkbox
          label={text.sortable}
          checked={field.sortable === true}
          onChange={({ currentTarget }) => onChange({ ...field, sortable: currentTarget.checked })}
        />
      </Stack>
    </Group>
  );
}

function AddTable() {
  const text = useText();
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('dyn_');
  const [label, setLabel] = useState('');
  const [fields, setFields] = useState<readonly NewField[]>([{ ...NO_FIELD, name: 'external_id', required: true }]);
  const [unique, setUnique] = useState<string | null>('external_id');
  const add = async () => {
    const named = { ...(label === '' ? {} : { label }), ...(unique === null ? {} : { unique_field: unique }) };
    await bodyOf(api.POST('/api/v1/platform/asset-types', { body: { name, ...named, fields: [...fields] } }));
    setOpen(false);
    await client.invalidateQueries({ queryKey: assetTypesQuery.queryKey });
  };
  return (
    <>
      <Button onClick={() => setOpen(true)}>{text.tables.addTable}</Button>
      {isOpen && (
        <FormDialog
          title={text.tables.addTable}
          label={text.common.add}
          act={add}
          onClose={() => setOpen(false)}
          size="xl"
        >
          {() => (
            <>
              <TextInput
                label={text.tables.technicalName}
                description={text.tables.technicalHint}
                required
                value={name}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
              />
              <TextInput
                label={text.tables.label}
                value={label}
                onChange={({ currentTarget }) => setLabel(currentTarget.value)}
              />
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
      )}
    </>
  );
}

export function AddField({ table }: { readonly table: string }) {
  const text = useText();
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [field, setField] = useState<NewField>(NO_FIELD);
  const add = async () => {
    await bodyOf(api.POST('/api/v1/platform/asset-types/{table}/fields', { params: { path: { table } }, body: field }));
    setOpen(false);
    setField(NO_FIELD);
    await Promise.all([
      client.invalidateQueries({ queryKey: assetTypesQuery.queryKey }),
      client.invalidateQueries({ queryKey: ['info', table] }),
    ]);
  };
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        {text.tables.addField}
      </Button>
      {isOpen && (
        <FormDialog
          title={text.tables.addField}
          label={text.common.add}
          act={add}
          onClose={() => setOpen(false)}
          size="lg"
        >
          {() => (
            <>
              <FieldForm field={field} onChange={setField} />
            </>
          )}
        </FormDialog>
      )}
    </>
  );
}
