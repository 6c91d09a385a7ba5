/** Any table as a grid with the API's filters, sorts, totals and pages, now or as it was at a moment. */
import { Button, Group, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type AnyRecord, ApiError, type AssetField, type AssetType, api, bodyOf, type PageMeta } from '../api/client';
import { cursorOf, tableInfoQuery, useRoles } from '../api/queries';
import { type Column, DataTable, Pages, useColumns } from '../app/DataTable';
import { DateInput } from '../app/DateInput';
import { Act, Confirm, FormDialog, Opens, TextField } from '../app/Dialogs';
import { languages, useLanguage, useText, When } from '../app/language';
import { decimalMark } from '../app/numberText';
import { Empty, Loaded, Page, Past } from '../app/Page';
import { Cut, SYSTEM_FIELDS, Value, valueText } from '../app/Rows';
import { writableFields } from '../orders/draft';
import type { RecordsSearch } from '../routes';
import { csvOf } from './csv';
import { type LinkOf, RecordForm, useReferences } from './RecordForm';
import { AddField } from './Tables';

const OPERATORS = ['', 'eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'null'] as const;
const SIGNS = { eq: '=', ne: '≠', gt: '>', gte: '≥', lt: '<', lte: '≤' };
const SHOWN_COLUMNS = 8;
const SHOWN_ON_PHONE = 4;
const PAGE_SIZE = 25;

export function TableRecords() {
  const { table } = getRouteApi('/tables/$table').useParams();
  const info = useQuery(tableInfoQuery(table));
  return <Loaded query={info}>{(type) => <Records key={table} type={type} />}</Loaded>;
}

function Records({ type }: { readonly type: AssetType }) {
  const text = useText();
  const navigate = useNavigate();
  const { isAdmin } = useRoles();
  const mayWrite = isAdmin && type.kind === 'reference';
  const search: RecordsSearch = getRouteApi('/tables/$table').useSearch();
  const table = type.name;
  const change = (more: { readonly [name in keyof RecordsSearch]?: RecordsSearch[name] | undefined }) =>
    void navigate({
      to: '/tables/$table',
      params: { table },
      search: { ...search, page: undefined, ...more } as RecordsSearch,
      replace: true,
    });
  const clear = async () => change({ filters: undefined });
  const list = useQuery({
    queryKey: ['records', table, search],
    queryFn: async ({ signal }) => {
      const { page, sort, at } = search;
      const query = { perPage: PAGE_SIZE, page, sort, at, ...filtersOf(search) };
      const params = { path: { table }, query: query as object };
      return bodyOf(api.GET('/api/v1/platform/tables/{table}/assets', { params, signal }));
    },
    placeholderData: (before) => before,
  });
  const linkOf = useReferences(type, (list.data?.data ?? []) as readonly AnyRecord[]);
  const then = useQuery({ ...tableInfoQuery(table, search.at), enabled: search.at !== undefined }).data;
  const ofThen = (then?.fields ?? type.fields).map((field) => {
    const label = type.fields.find(({ name }) => name === field.name)?.label;
    return { ...field, label: label ?? `${field.label} (${text.tables.retired})` };
  });
  const fields = ofThen.filter(({ name, list: isList }) => !isList && !SYSTEM_FIELDS.includes(name));
  // A record is opened as of the moment of its list.
  const moment: Moment = search.at === undefined ? {} : { at: search.at };
  const [columns, choice] = useColumns<AnyRecord>(table, [
    ...fields.map((field, at) => columnOf(field, table, at, linkOf, moment)),
    ...(['created_at', 'updated_at'] as const).map((id) => ({
      id,
      label: id === 'created_at' ? text.common.created : text.common.changed,
      sort: id,
      isHidden: id === 'created_at',
      cell: (record: AnyRecord) => <When at={String(record[id])} />,
    })),
  ]);
  return (
    <Page
      title={type.label}
      actions={
        <>
          {type.kind === 'reference' && (
            <Button component={Link} to={`/tables/${table}/operations`} size="xs" variant="default">
              {text.tables.operations}
            </Button>
          )}
          <Button component={Link} to={`/tables/${table}/compare`} size="xs" variant="default">
            {text.tables.compare}
          </Button>
          {search.at === undefined && <DownloadTable type={type} filters={filtersOf(search)} />}
          {isAdmin && <Opens label={text.tables.labels}>{(close) => <Fields type={type} onClose={close} />}</Opens>}
          {mayWrite && (
            <>
              <Button component={Link} to={`/tables/${table}/import`} size="xs" variant="default">
                {text.imports.title}
              </Button>
              <Opens label={text.tables.addField}>{(close) => <AddField table={table} onClose={close} />}</Opens>
              <Opens label={text.tables.addRecord} variant="filled">
                {(close) => <RecordForm type={type} onClose={close} />}
              </Opens>
            </>
          )}
        </>
      }
    >
      {search.at !== undefined && <Past at={search.at} onNow={() => change({ at: undefined })} />}
      <Filters fields={fields} search={search} onChange={change} columns={choice} />
      <Loaded query={list}>
        {({ data: rows, meta }) =>
          rows.length === 0 ? (
            <Empty action={search.filters && <Act label={text.common.clearFilters} act={clear} />}>
              {search.filters === undefined ? text.tables.noRecords : text.common.noMatch}
            </Empty>
          ) : (
            <>
              <DataTable
                label={type.label}
                columns={columns}
                rows={rows as readonly AnyRecord[]}
                rowId={({ id }) => id}
                onOpen={({ id: recordId }) =>
                  void navigate({ to: '/tables/$table/records/$recordId', params: { table, recordId }, search: moment })
                }
                sorted={{ by: search.sort, onSort: (sort) => change({ sort }) }}
              />
              <Pages meta={meta as PageMeta} onPage={(page) => change({ page })} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

/** What the address says, as the API's parameters. */
const filtersOf = ({ filters = {} }: RecordsSearch): { readonly [parameter: string]: string } =>
  Object.fromEntries(
    Object.entries(filters).map(([name, value]) => {
      const [field, operator] = name.split(' ');
      return [`filter[${field}]${operator === undefined ? '' : `[${operator}]`}`, value];
    }),
  );

type Moment = Pick<RecordsSearch, 'at'>;

function columnOf(field: AssetField, table: string, at: number, linkOf: LinkOf, moment: Moment): Column<AnyRecord> {
  const isNumber = field.type === 'Integer' || field.type === 'Decimal';
  return {
    id: field.name,
    label: field.label,
    isHidden: at >= SHOWN_COLUMNS,
    priority: at === 0 ? 1 : at < SHOWN_ON_PHONE ? 3 : undefined,
    isNumber,
    ...(field.sortable ? { sort: field.name } : {}),
    cell: (record) => {
      const [raw, value] = [record[field.name], valueText(record[field.name])];
      if (at > 0 && field.type.startsWith('Date')) return <When at={value} />;
      if (at > 0 && typeof raw !== 'string') return value && <Value>{raw}</Value>;
      if (at > 0) return linkOf(field.name, value) ?? <Cut>{value}</Cut>;
      return (
        <Link to="/tables/$table/records/$recordId" params={{ table, recordId: record.id }} search={moment}>
          <Cut>{value === '' ? record.id : value}</Cut>
        </Link>
      );
    },
  };
}

type FiltersProps = {
  readonly fields: readonly AssetField[];
  readonly search: RecordsSearch;
  readonly onChange: (more: { readonly [name in keyof RecordsSearch]?: RecordsSearch[name] | undefined }) => void;
  /** The choice of columns, behind the filters. */
  readonly columns: ReactNode;
};

/** A field, how it is compared, and with what; those that are set stand below, each with its own button to remove it. */
function Filters({ fields, search, onChange, columns }: FiltersProps) {
  const text = useText();
  const choices = fields.filter(({ filterable }) => filterable).map(({ name, label }) => ({ value: name, label }));
  const [field, setField] = useState(choices.find(({ value }) => value === 'name')?.value ?? choices[0]?.value ?? null);
  const [operator, setOperator] = useState<string>('');
  const [value, setValue] = useState('');
  const filters = search.filters ?? {};
  const signs: { readonly [operator: string]: string } = { ...SIGNS, ...text.tables.operators };
  const words = (name: string): string => {
    const [of = '', by = ''] = name.split(' ');
    return `${fields.find((each) => each.name === of)?.label ?? of} ${signs[by] ?? by}`;
  };
  const add = () => {
    if (field === null || value === '') return;
    onChange({ filters: { ...filters, [operator === '' ? field : `${field} ${operator}`]: value } });
    setValue('');
  };
  const remove = (name: string) => {
    const { [name]: _, ...others } = filters;
    onChange({ filters: Object.keys(others).length === 0 ? undefined : others });
  };
  return (
    <>
      <Group
        component="form"
        gap="xs"
        align="flex-end"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <Select
          aria-label={text.tables.filter}
          searchable
          allowDeselect={false}
          data={choices}
          value={field}
          onChange={setField}
        />
        <Select
          aria-label={text.tables.operators['']}
          allowDeselect={false}
          data={OPERATORS.map((each) => ({ value: each, label: signs[each] ?? each }))}
          value={operator}
          onChange={(next) => setOperator(next ?? '')}
        />
        <TextField aria-label={text.common.search} placeholder={text.common.search} value={value} onText={setValue} />
        <DateInput
          isMoment
          isFilter
          label={text.tables.at}
          value={search.at ?? ''}
          onChange={(at) => onChange({ at: at === '' ? undefined : at })}
        />
        <Button type="submit" variant="default">
          {text.common.search}
        </Button>
        {columns}
      </Group>
      {Object.keys(filters).length > 0 && (
        <Group gap="xs">
          {Object.entries(filters).map(([name, of]) => (
            <Button
              key={name}
              size="compact-sm"
              radius="xl"
              variant="default"
              rightSection="×"
              aria-label={`${text.common.remove}: ${words(name)} ${of.slice(0, 60)}`}
              onClick={() => remove(name)}
            >
              {words(name)}&nbsp;<bdi>{of.slice(0, 60)}</bdi>
            </Button>
          ))}
        </Group>
      )}
    </>
  );
}

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
                label={[<bdi key="of">{field.label}</bdi>, ` (${label})`]}
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

/** Records on a page: fewer where they are large. */
const PAGE_SIZES = [1000, 100, 25] as const;
const TOO_LARGE = 413;

type DownloadProps = { readonly type: AssetType; readonly filters: { readonly [parameter: string]: string } };

const TIMES = ['created_at', 'updated_at'].map((name) => ({ name, type: 'DateTime' }));

/** The table, or what its filters leave of it, as a CSV file: fetched page by page, so that any size works. */
function DownloadTable({ type: { name: table, fields }, filters }: DownloadProps) {
  const { language, text } = useLanguage();
  const columns = [...fields.filter(({ name }) => !SYSTEM_FIELDS.includes(name)), ...TIMES];
  const download = async () => {
    const pages: string[] = [];
    let cursor: string | undefined = '';
    let size = 0;
    while (cursor !== undefined) {
      try {
        const query = new URLSearchParams({ ...filters, perPage: String(PAGE_SIZES[size] ?? 25), cursor });
        const { data, links } = await bodyOf(
          api.GET('/api/v1/platform/tables/{table}/assets', {
            params: { path: { table }, query: Object.fromEntries(query) as object },
            querySerializer: () => query.toString(),
          }),
        );
        const csv = csvOf(columns, data, decimalMark(language));
        // Each page begins with the names of the fields.
        pages.push(pages.length === 0 ? csv : csv.slice(csv.indexOf('\n') + 1));
        cursor = cursorOf(links.next);
      } catch (error) {
        const isTooLarge = error instanceof ApiError && error.status === TOO_LARGE && size + 1 < PAGE_SIZES.length;
        if (!isTooLarge) throw error;
        size += 1;
      }
    }
    saveCsv(`${table}.csv`, pages);
  };
  return <Act label={text.common.download} act={download} />;
}

/** Spreadsheets take a file without a byte order mark for Windows-1252. @param parts without it, as `response.text()` drops it */
export function saveCsv(name: string, parts: readonly string[]): void {
  const file = new Blob(['\uFEFF', ...parts], { type: 'text/csv' });
  const url = URL.createObjectURL(file);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
