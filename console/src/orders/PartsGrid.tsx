/** The parts of an order as a grid that is filled in: lines, or consignments with their goods, and charges. */
import { Button, Group, Paper, Table, Title, VisuallyHidden } from '@mantine/core';
import { useCallbackRef } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { parse } from 'papaparse';
import { type ClipboardEvent, memo, useMemo, useRef, useState } from 'react';
import type { AnyRecord, AssetField, AssetType } from '../api/client';
import { tableInfoQuery } from '../api/queries';
import { useKeys } from '../app/keys';
import { useLanguage, useText } from '../app/language';
import { decimalMark } from '../app/numberText';
import { Loaded } from '../app/Page';
import { cellValue } from '../tables/cells';
import { guessDialect } from '../tables/csv';
import {
  type Draft,
  type DraftPart,
  type Fields,
  NO_DRAFT,
  partsIn,
  partsOf,
  referenceOf,
  writableFields,
} from './draft';
import { FieldInput, pickedKey, recordsLike } from './FieldInput';

type Props = {
  readonly relationship: AssetType['relationships'][number];
  readonly order: { readonly [field: string]: unknown };
  readonly draft: Draft;
  readonly onChange: (change: (draft: Draft) => Draft) => void;
  /** By path, such as `lines.0.item_id`. */
  readonly errors: ReadonlyMap<string, string>;
  readonly isDisabled: boolean;
};

export function PartsGrid({ relationship, order, draft, onChange, ...more }: Props) {
  const { name } = relationship;
  // The same rows before and after the first change, so that only the changed one is rendered again.
  const saved = useMemo(() => partsOf(NO_DRAFT, order, name), [order, name]);
  const parts = draft.parts[name] ?? saved;
  const setParts = useCallbackRef((change: ChangeParts) =>
    onChange((present) => ({ ...present, parts: { ...present.parts, [name]: change(present.parts[name] ?? saved) } })),
  );
  return (
    <Paper withBorder p="md" data-field={name}>
      <Parts relationship={relationship} path={name} parts={parts} onChange={setParts} {...more} />
    </Paper>
  );
}

type ChangeParts = (present: readonly DraftPart[]) => readonly DraftPart[];
type PartsProps = Pick<Props, 'relationship' | 'errors' | 'isDisabled'> & {
  /** Of the list in the order, such as `consignments.0.goods`. */
  readonly path: string;
  readonly parts: readonly DraftPart[];
  readonly onChange: (change: ChangeParts) => void;
};

function Parts(props: PartsProps) {
  return (
    <Loaded query={useQuery(tableInfoQuery(props.relationship.table))}>
      {(info) => <Grid {...props} info={info} />}
    </Loaded>
  );
}

/** Of a column, in pixels. */
const WIDTHS: { readonly [type in AssetField['type']]?: number } = {
  Integer: 70,
  Decimal: 100,
  Date: 160,
  Boolean: 60,
};
const [LOOK_UP, TEXT, SHORT_LOOK_UP, LETTER] = [345, 150, 148, 10];
/** Units and the like have short names. */
const isShort = (table: string): boolean => table.endsWith('_code') || table.endsWith('_type');

type AssetColumn = {
  readonly field: AssetField;
  /** Where the value names a record of another table. */
  readonly reference: AssetType['relationships'][number] | undefined;
  readonly width: number;
};

/** Behind its quantity, without a head of its own. */
const isUnit = (column: { readonly name: string } | undefined): boolean => column?.name === 'unit_code_id';

function columnsOf(info: AssetType, owner: string): readonly AssetColumn[] {
  const fields = writableFields(info, owner);
  const units = fields.filter(isUnit);
  const ordered = fields.flatMap((field) =>
    isUnit(field) ? [] : field.name === 'quantity' ? [field, ...units] : field,
  );
  return ordered.map((field) => {
    const reference = referenceOf(info, field);
    const ofReference = reference && (isShort(reference.table) ? SHORT_LOOK_UP : LOOK_UP);
    // A short name stands on one line.
    const least = Math.min(TEXT, field.label.length * LETTER);
    return { field, reference, width: Math.max(least, ofReference ?? WIDTHS[field.type] ?? TEXT) };
  });
}

type GridProps = PartsProps & { readonly info: AssetType };

function Grid({ relationship: { field: owner }, path, parts, onChange, errors, isDisabled, info }: GridProps) {
  const { text, language } = useLanguage();
  const client = useQueryClient();
  const body = useRef<HTMLTableSectionElement>(null);
  const [isWhole, setWhole] = useState(false);
  const isNested = path.includes('.');
  const all = useMemo(() => columnsOf(info, owner), [info, owner]);
  const hasValue = ({ field }: AssetColumn) => parts.some(({ fields }) => (fields[field.name] ?? '') !== '');
  const hasError = ({ field }: AssetColumn) => parts.some((_, at) => errors.has(`${path}.${at}.${field.name}`));
  // As it was opened: a column must not go while it is emptied. The first lines of an order need the first columns.
  const [filled] = useState(() => {
    const first = parts.length === 0 ? all.slice(0, 4) : all.filter(hasValue);
    return new Set(first.map(({ field }) => field.name));
  });
  const isShown = (column: AssetColumn) =>
    isWhole || column.field.required || hasError(column) || filled.has(column.field.name) || hasValue(column);
  const shown = all.filter(isShown);
  // The same list as long as it has the same columns, so that rows are not rendered again.
  const names = shown.map(({ field }) => field.name).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is made again with each rendering
  const columns = useMemo(() => shown, [all, names]);
  const lists = useMemo(() => info.relationships.filter(({ kind }) => kind === 'has_many'), [info]);
  const isNumbered = all.some(({ field }) => field.name === 'line_number');
  const newPart = (present: readonly DraftPart[], fields: DraftPart['fields'] = {}): DraftPart => {
    const last = Math.max(0, ...present.map(({ fields: { line_number: number } }) => Number(number) || 0));
    return { key: crypto.randomUUID(), fields: { ...fields, ...(isNumbered && { line_number: last + 1 }) } };
  };
  const add = (fields: DraftPart['fields'] = {}) => {
    onChange((present) => [...present, newPart(present, fields)]);
    // The new row, as soon as it is there.
    requestAnimationFrame(() => {
      const rows = body.current?.querySelectorAll(':scope > tr[data-part]');
      [...(rows ?? [])].at(-1)?.querySelector('input')?.focus();
    });
  };
  const duplicate = useCallbackRef(({ fields }: DraftPart) => add(copied(fields, lists)));
  const paste = async (event: ClipboardEvent<HTMLElement>) => {
    const cell = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>('[data-field]') : null;
    const [, row, name] = /\.(\d+)\.(\w+)$/.exec(cell?.dataset.field ?? '') ?? [];
    const first = columns.findIndex(({ field }) => field.name === name);
    const column = columns[first];
    const cells = column && cellsIn(event.clipboardData.getData('text/plain'), column.field);
    if (cells === undefined || `${path}.${row}.${name}` !== cell?.dataset.field) return;
    event.preventDefault();
    // What was typed there is no longer shown.
    if (event.target instanceof HTMLElement) event.target.blur();
    const pasted = await readCells(client, cells, columns.slice(first), decimalMark(language));
    onChange((present) => {
      const parts = [...present];
      for (const [at, fields] of pasted.rows.entries()) {
        const part = parts[Number(row) + at] ?? newPart(parts);
        parts[Number(row) + at] = { ...part, fields: { ...part.fields, ...fields } };
      }
      return parts;
    });
    if (pasted.unknown.length > 0)
      notifications.show({ color: 'orange', message: text.orders.notFound(pasted.unknown.join(', ')) });
  };
  useKeys(isDisabled || isNested ? {} : { '+': () => add() });
  return (
    <>
      <Group justify="space-between" mb="xs">
        <Title order={isNested ? 3 : 2}>{info.label}</Title>
        <Group gap="xs">
          {parts.length > 0 && columns.length < all.length && (
            <Button size="xs" variant="subtle" onClick={() => setWhole(true)}>
              {text.orders.emptyColumns(all.length - columns.length)}
            </Button>
          )}
          {!isDisabled && (
            <Button size="xs" variant="default" onClick={() => add()}>
              {text.keys.rows['+']}
            </Button>
          )}
        </Group>
      </Group>
      {parts.length > 0 && (
        <Table.ScrollContainer className="stacked" minWidth={columns.reduce((sum, { width }) => sum + width, 60)}>
          <Table className="parts" aria-label={info.label}>
            <colgroup>
              {columns.map(({ field, width }) => (
                <col key={field.name} width={isWhole || width < TEXT ? width : undefined} />
              ))}
            </colgroup>
            <Table.Thead>
              <Table.Tr>
                {columns.map(
                  ({ field }, at) =>
                    !isUnit(field) && (
                      <Table.Th key={field.name} colSpan={isUnit(columns[at + 1]?.field) ? 2 : 1}>
                        {field.label}
                        {field.required ? ' *' : ''}
                      </Table.Th>
                    ),
                )}
                <Table.Th w={70}>
                  <VisuallyHidden>{text.common.actions}</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody ref={body} onPaste={(event) => void paste(event)}>
              {parts.map((part, at) => (
                <PartRow
                  key={part.key}
                  part={part}
                  at={at}
                  path={path}
                  columns={columns}
                  lists={lists}
                  errors={errors}
                  isDisabled={isDisabled}
                  onChange={onChange}
                  onDuplicate={duplicate}
                />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </>
  );
}

/** Without ids: those are the other part's. */
function copied({ id: _, ...fields }: DraftPart['fields'], lists: RowProps['lists']): DraftPart['fields'] {
  const inner = lists.map(({ name }) => {
    const parts = partsIn(fields[name]).map((part) => ({ key: crypto.randomUUID(), fields: copied(part.fields, []) }));
    return [name, parts] as const;
  });
  return { ...fields, ...Object.fromEntries(inner) };
}

type RowProps = Pick<PartsProps, 'path' | 'errors' | 'isDisabled' | 'onChange'> & {
  readonly part: DraftPart;
  readonly at: number;
  readonly columns: readonly AssetColumn[];
  /** Of the part itself, such as the goods of a consignment. */
  readonly lists: readonly Props['relationship'][];
  readonly onDuplicate: (part: DraftPart) => void;
};

/** Rendered again only where it changes, and of plain elements: an order may have hundreds. */
const PartRow = memo(
  ({ part, at, path: list, columns, lists, errors, isDisabled, onChange, onDuplicate }: RowProps) => {
    const { orders } = useText();
    const setField = (of: string, change: (present: unknown) => unknown) =>
      onChange((present) =>
        present.map((each) =>
          each.key === part.key ? { ...each, fields: { ...each.fields, [of]: change(each.fields[of]) } } : each,
        ),
      );
    const remove = () => onChange((present) => present.filter(({ key }) => key !== part.key));
    const acts = [
      ['2×', orders.duplicateLine, () => onDuplicate(part)] as const,
      ['×', orders.removeLine, remove] as const,
    ];
    return (
      <>
        <tr data-part>
          {columns.map(({ field, reference, width }) => {
            const path = `${list}.${at}.${field.name}`;
            const value = part.fields[field.name];
            return (
              <td key={field.name} data-field={path} data-label={field.label} style={{ flex: `1 1 ${width}px` }}>
                <FieldInput
                  {...{ field, reference, value, isDisabled }}
                  isInGrid
                  label={`${field.label}, ${at + 1}`}
                  of={part.fields}
                  onChange={(to) => setField(field.name, () => to)}
                  error={errors.get(path)}
                />
              </td>
            );
          })}
          <td>
            {!isDisabled &&
              acts.map(([sign, label, act]) => (
                <button key={sign} type="button" aria-label={`${label}, ${at + 1}`} onClick={act}>
                  {sign}
                </button>
              ))}
          </td>
        </tr>
        {lists.map((relationship) => (
          <tr key={relationship.name}>
            <td colSpan={columns.length + 1}>
              <Parts
                relationship={relationship}
                path={`${list}.${at}.${relationship.name}`}
                parts={partsIn(part.fields[relationship.name])}
                onChange={(change) => setField(relationship.name, (present) => change(partsIn(present)))}
                errors={errors}
                isDisabled={isDisabled}
              />
            </td>
          </tr>
        ))}
      </>
    );
  },
);

/** The cells of a sheet that were copied; undefined for a single one, which an input takes as it is. */
function cellsIn(text: string, { type }: AssetField): readonly (readonly string[])[] | undefined {
  const rows = parse<string[]>(text.replace(/\r?\n$/, ''), { delimiter: '\t' }).data;
  const isOneText = type === 'LongText' && !text.includes('\t');
  return isOneText || (rows.length === 1 && rows[0]?.length === 1) ? undefined : rows;
}

/**
 * @param columns from the one of the first cell on
 * @returns the fields that each row fills, and the names of records that do not exist @throws ApiError
 */
async function readCells(
  client: QueryClient,
  cells: readonly (readonly string[])[],
  columns: readonly AssetColumn[],
  decimal: string,
) {
  const dialect = await guessDialect(new Blob([cells.map((row) => row.join('\t')).join('\n')]), decimal);
  const unknown = new Set<string>();
  const valueIn = async (cell: string, { field, reference }: AssetColumn): Promise<unknown> => {
    if (reference === undefined || cell.trim() === '') return cellValue(cell, field.type, dialect);
    const { table, key } = reference;
    const record = await client.fetchQuery({
      queryKey: ['named', table, cell.trim()],
      queryFn: async () => recordNamed(await recordsLike(table, cell.trim()), cell.trim()),
      staleTime: 60_000,
    });
    if (record === null) {
      unknown.add(cell.trim());
      return null;
    }
    client.setQueryData(pickedKey(table, String(record[key])), record);
    return record[key];
  };
  const rows = cells.map(async (row): Promise<Fields> => {
    const values = row.slice(0, columns.length).map(async (cell, at) => {
      const column = columns[at];
      return column === undefined ? [] : [[column.field.name, await valueIn(cell, column)] as const];
    });
    return Object.fromEntries((await Promise.all(values)).flat());
  });
  return { rows: await Promise.all(rows), unknown: [...unknown] };
}

/** By its name, code, EAN or another of its texts; null where there is none, or more than one. */
function recordNamed(records: readonly AnyRecord[], name: string): AnyRecord | null {
  const same = (value: unknown) => typeof value === 'string' && value.toLowerCase() === name.toLowerCase();
  const [record, other] = records.filter((each) => Object.values(each).some(same));
  return other === undefined ? (record ?? null) : null;
}
