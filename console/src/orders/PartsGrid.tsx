/** The parts of an order as a grid that is filled in: lines, or consignments and charges. */
import { ActionIcon, Button, Group, Paper, Table, Title, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import type { AnyRecord, AssetField, AssetType } from '../api/client';
import { tableInfoQuery } from '../api/queries';
import { useKeys } from '../app/keys';
import { useText } from '../app/language';
import { Loaded } from '../app/Page';
import { type Draft, type DraftPart, partsOf, writableFields } from './draft';
import { FieldInput } from './FieldInput';
import { LookUp } from './LookUp';

type Props = {
  readonly relationship: AssetType['relationships'][number];
  readonly order: { readonly [field: string]: unknown };
  readonly draft: Draft;
  readonly onChange: (change: (draft: Draft) => Draft) => void;
  /** By path, such as `lines.0.item_id`. */
  readonly errors: ReadonlyMap<string, string>;
  readonly isDisabled: boolean;
};

export function PartsGrid(props: Props) {
  return (
    <Loaded query={useQuery(tableInfoQuery(props.relationship.table))}>
      {(info) => <Grid {...props} info={info} />}
    </Loaded>
  );
}

/** Of a column, in pixels. */
const WIDTHS: { readonly [type in AssetField['type']]?: number } = {
  Integer: 90,
  Decimal: 110,
  Date: 160,
  Boolean: 60,
};
const widthOf = ({ type }: AssetField, isLookUp: boolean): number => (isLookUp ? 240 : (WIDTHS[type] ?? 150));

function Grid({
  relationship,
  order,
  draft,
  onChange,
  errors,
  isDisabled,
  info,
}: Props & { readonly info: AssetType }) {
  const text = useText();
  const body = useRef<HTMLTableSectionElement>(null);
  const { name, field: owner } = relationship;
  const parts = partsOf(draft, order, name);
  const fields = writableFields(info, owner);
  const references = new Map(
    info.relationships.filter(({ kind }) => kind === 'belongs_to').map((each) => [each.field, each]),
  );
  const setParts = (change: (present: readonly DraftPart[]) => readonly DraftPart[]) =>
    onChange((present) => ({ ...present, parts: { ...present.parts, [name]: change(partsOf(present, order, name)) } }));
  const setField = (key: string, of: string, value: unknown) =>
    setParts((present) =>
      present.map((part) => (part.key === key ? { ...part, fields: { ...part.fields, [of]: value } } : part)),
    );
  const add = () => {
    const numbers = parts.map(({ fields: { line_number: number } }) => Number(number) || 0);
    const numbered = fields.some((field) => field.name === 'line_number')
      ? { line_number: Math.max(0, ...numbers) + 1 }
      : {};
    setParts((present) => [...present, { key: crypto.randomUUID(), fields: numbered }]);
    // The new row, as soon as it is there.
    requestAnimationFrame(() => body.current?.querySelector<HTMLElement>('tr:last-child input')?.focus());
  };
  useKeys(isDisabled ? {} : { '+': add });
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          {info.label}
        </Title>
        {!isDisabled && (
          <Button size="xs" variant="default" onClick={add}>
            {text.orders.addLine}
          </Button>
        )}
      </Group>
      <Table.ScrollContainer
        minWidth={fields.reduce((sum, field) => sum + widthOf(field, references.has(field.name)), 60)}
      >
        <Table verticalSpacing={4} aria-label={info.label}>
          <Table.Thead>
            <Table.Tr>
              {fields.map((field) => (
                <Table.Th key={field.name} miw={widthOf(field, references.has(field.name))}>
                  {field.label}
                  {field.required ? ' *' : ''}
                </Table.Th>
              ))}
              <Table.Th w={40}>
                <VisuallyHidden>{text.common.actions}</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody ref={body}>
            {parts.map((part, at) => (
              <Table.Tr key={part.key}>
                {fields.map((field) => {
                  const reference = references.get(field.name);
                  const path = `${name}.${at}.${field.name}`;
                  const value = part.fields[field.name];
                  const shared = {
                    onChange: (to: unknown) => setField(part.key, field.name, to),
                    error: errors.get(path),
                    isDisabled,
                    ariaLabel: `${field.label}, ${at + 1}`,
                  };
                  return (
                    <Table.Td key={field.name} data-field={path}>
                      {reference === undefined ? (
                        <FieldInput field={field} value={value} isInGrid {...shared} />
                      ) : (
                        <LookUp
                          table={reference.table}
                          keyField={reference.key}
                          value={typeof value === 'string' ? value : null}
                          record={recordOf(part.fields[reference.name], reference.key, value)}
                          {...shared}
                        />
                      )}
                    </Table.Td>
                  );
                })}
                <Table.Td>
                  {!isDisabled && (
                    <ActionIcon
                      variant="subtle"
                      color="red"
                      aria-label={`${text.orders.removeLine}, ${at + 1}`}
                      onClick={() => setParts((present) => present.filter(({ key }) => key !== part.key))}
                    >
                      ×
                    </ActionIcon>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

/** The record that the document has for a reference, unless the reference was changed since. */
function recordOf(record: unknown, key: string, value: unknown): AnyRecord | null {
  if (typeof record !== 'object' || record === null) return null;
  const known = record as AnyRecord;
  return known[key] === value ? known : null;
}
