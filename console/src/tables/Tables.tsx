/** All tables of the tenant; admins add tables of their own. */
import { Checkbox, Group, Select, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
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
  return (
    <Page title={text.title} actions={add}>
      <Loaded query={useQuery(assetTypesQuery)}>
        {(tables) =>
          (['reference', 'master'] as const).map((kind) => (
            <Stack key={kind} gap="xs">
              <Title order={2}>{text[kind]}</Title>
              <TableList label={text[kind]} tables={tables.filter((table) => table.kind === kind)} />
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

/** A table with its unique field: the others are added where its records are. */
function AddTable({ onClose }: { readonly onClose: () => void }) {
  const { tables: text, common } = useText();
  const navigate = useNavigate();
  const [name, setName] = useState('dyn_');
  const [label, setLabel] = useState('');
  const [unique, setUnique] = useState('external_id');
  const add = async () => {
    const fields = [{ ...NO_FIELD, name: unique, required: true }];
    const body = { name, ...(label === '' ? {} : { label }), unique_field: unique, fields };
    await bodyOf(api.POST('/api/v1/platform/asset-types', { body }));
    await navigate({ to: '/tables/$table', params: { table: name } });
  };
  return (
    <FormDialog title={text.addTable} label={common.add} act={add} onClose={onClose}>
      {(errorOf) => (
        <>
          <TextField
            label={text.technicalName}
            description={text.technicalHint}
            required
            value={name}
            error={errorOf('name')}
            onText={setName}
          />
          <TextField label={text.label} value={label} error={errorOf('label')} onText={setLabel} />
          <TextField label={text.unique} required value={unique} error={errorOf('unique_field')} onText={setUnique} />
        </>
      )}
    </FormDialog>
  );
}

export function AddField({ table, onClose }: { readonly table: string; readonly onClose: () => void }) {
  const text = useText();
  const [field, setField] = useState<NewField>(NO_FIELD);
  const add = async () => {
    await bodyOf(api.POST('/api/v1/platform/asset-types/{table}/fields', { params: { path: { table } }, body: field }));
    onClose();
  };
  return (
    <FormDialog title={text.tables.addField} label={text.common.add} act={add} onClose={onClose} size="lg">
      {() => (
        <Group align="flex-end" gap="xs">
          <TextField
            label={text.tables.technicalName}
            required
            value={field.name}
            onText={(name) => setField({ ...field, name })}
          />
          <Select
            label={text.tables.type}
            data={[...TYPES]}
            value={field.type}
            allowDeselect={false}
            w={120}
            onChange={(type) => setField({ ...field, type: type as NewField['type'] })}
          />
          <Stack gap={4}>
            {(['required', 'filterable', 'sortable'] as const).map((name) => (
              <Checkbox
                key={name}
                label={text.tables[name]}
                checked={field[name] === true}
                onChange={({ currentTarget }) => setField({ ...field, [name]: currentTarget.checked })}
              />
            ))}
          </Stack>
        </Group>
      )}
    </FormDialog>
  );
}
