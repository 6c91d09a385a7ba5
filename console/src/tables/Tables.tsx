/** All tables of the tenant; admins add tables of their own. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { operations } from '../../generated/schema';
import { api, bodyOf } from '../api/client';
import { assetTypesQuery, ours, tableSummariesQuery, useRoles } from '../api/queries';
import { InputsDialog, Opens } from '../app/Dialogs';
import { useNumber, useText, When } from '../app/language';
import { Loaded, Page, Section } from '../app/Page';
import { Rows } from '../app/Rows';

type NewField = operations['platformAddField']['requestBody']['content']['application/json'];

export function Tables() {
  const text = useText().tables;
  const number = useNumber();
  const { isAdmin } = useRoles();
  // The list does not wait for it.
  const summaries = new Map(useQuery(tableSummariesQuery).data?.map((each) => [each.name, each]));
  const add = isAdmin && (
    <Opens label={text.addTable} variant="filled">
      {(close) => <AddTable onClose={close} />}
    </Opens>
  );
  return (
    <Page title={text.title} actions={add}>
      <Loaded query={useQuery(assetTypesQuery)}>
        {(tables) =>
          (['reference', 'master'] as const).map((kind) => (
            <Section key={kind} title={text[kind]}>
              <Rows
                label={text[kind]}
                heads={[text.one, { label: text.records, isNumber: true }, text.lastWritten, text.technicalName]}
                rows={tables
                  .filter((table) => table.kind === kind)
                  .map(({ name, label }) => ({
                    id: name,
                    cells: [
                      <Link key="one" to="/tables/$table" params={{ table: name }}>
                        <bdi>{label}</bdi>
                      </Link>,
                      number(summaries.get(name)?.records),
                      <When key="written" at={summaries.get(name)?.last_written_at} />,
                      <span key="name" className="mono">
                        {name}
                      </span>,
                    ],
                  }))}
              />
            </Section>
          ))
        }
      </Loaded>
    </Page>
  );
}

const TYPES: readonly NewField['type'][] = ['String', 'LongText', 'Integer', 'Decimal', 'Date', 'DateTime', 'Boolean'];
const NO_FIELD: NewField = { name: '', type: 'String', filterable: true, sortable: true, required: false };

/** A table with its unique field: the others are added where its records are. */
function AddTable({ onClose }: { readonly onClose: () => void }) {
  const { tables: text, common } = useText();
  const navigate = useNavigate();
  const send = async ({ name, label, unique_field }: { name: string; label: string; unique_field: string }) => {
    const fields = [{ ...NO_FIELD, name: unique_field, required: true }];
    const body = { name, ...(label === '' ? {} : { label }), unique_field, fields };
    await bodyOf(api.POST('/api/v1/platform/asset-types', { body }));
    await navigate({ to: '/tables/$table', params: { table: name } });
  };
  return (
    <InputsDialog
      title={text.addTable}
      label={common.add}
      inputs={[
        { name: 'name', label: text.technicalName, description: text.technicalHint, required: true },
        { name: 'label', label: text.label },
        { name: 'unique_field', label: text.unique, required: true },
      ]}
      values={{ name: 'dyn_', label: '', unique_field: 'external_id' }}
      send={send}
      onClose={onClose}
    />
  );
}

export function AddField({ table, onClose }: { readonly table: string; readonly onClose: () => void }) {
  const { tables: text, common } = useText();
  const tables = useQuery(assetTypesQuery).data?.filter(({ kind }) => kind === 'reference') ?? [];
  const types = TYPES.map((value) => ({ value, label: ours(value) }));
  const references = tables.map(({ name: value, label }) => ({ value, label: `${text.one}: ${label}` }));
  const send = ({ type: chosen, ...more }: Omit<NewField, 'type'> & { type: string }) => {
    const type = TYPES.find((each) => each === chosen);
    const body = { ...more, ...(type === undefined ? { type: 'String' as const, refers_to: chosen } : { type }) };
    return bodyOf(api.POST('/api/v1/platform/asset-types/{table}/fields', { params: { path: { table } }, body }));
  };
  return (
    <InputsDialog
      title={text.addField}
      label={common.add}
      inputs={[
        { name: 'name', label: text.technicalName, required: true },
        { name: 'type', label: text.type, choices: [...types, ...references] },
        ...(['required', 'filterable', 'sortable'] as const).map((name) => ({ name, label: text[name] })),
      ]}
      values={NO_FIELD}
      send={send}
      onClose={onClose}
    />
  );
}
