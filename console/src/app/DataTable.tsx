/** A table of rows for all pages: sorted by the API, opened and selected by mouse or keys, with columns that are remembered. */
import { Button, Checkbox, Group, Menu, Pagination, Table, Text, UnstyledButton } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { PageMeta } from '../api/client';
import { useKeys } from './keys';
import { useNumber, useText } from './language';

export type Column<Row> = {
  readonly id: string;
  readonly label: string;
  readonly cell: (row: Row) => ReactNode;
  /** The field by which the API sorts; absent if it does not. */
  readonly sort?: string | undefined;
  readonly isNumber?: boolean;
  /** Shown only if the person chooses it. */
  readonly isHidden?: boolean;
  /** On a phone a row shows these in its first line, in its second, and below with their labels; no others unless chosen. */
  readonly priority?: 1 | 2 | 3 | undefined;
};

/** Those that a person has chosen to see, which is kept under the name, and the button that chooses. */
export function useColumns<Row>(name: string, columns: readonly Column<Row>[]) {
  const text = useText();
  const [visibility, setVisibility] = useLocalStorage<Record<string, boolean>>({
    key: `console.columns.${name}`,
    defaultValue: {},
    getInitialValueInEffect: false,
  });
  const isShown = ({ id, isHidden }: Column<Row>): boolean => visibility[id] ?? isHidden !== true;
  const withPriority = (column: Column<Row>): Column<Row> => ({
    ...column,
    priority: column.priority ?? (visibility[column.id] === true ? 3 : undefined),
  });
  const choice = (
    <Menu closeOnItemClick={false} position="bottom-end">
      <Menu.Target>
        <Button variant="default" ml="auto">
          {text.common.columns}
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="60vh" style={{ overflowY: 'auto' }}>
        {columns.map((column) => (
          <Checkbox
            key={column.id}
            px="sm"
            py={4}
            label={column.label}
            checked={isShown(column)}
            onChange={({ currentTarget }) => setVisibility({ ...visibility, [column.id]: currentTarget.checked })}
          />
        ))}
      </Menu.Dropdown>
    </Menu>
  );
  return [columns.filter(isShown).map(withPriority), choice] as const;
}

type Props<Row> = {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowId: (row: Row) => string;
  readonly onOpen?: (row: Row) => void;
  readonly sorted?: { readonly by: string | undefined; readonly onSort: (sort: string) => void };
  readonly selected?: { readonly ids: ReadonlySet<string>; readonly onSelect: (ids: ReadonlySet<string>) => void };
};

export function DataTable<Row extends object>({ label, columns, rows, rowId, onOpen, sorted, selected }: Props<Row>) {
  const text = useText();
  const [current, setCurrent] = useState(-1);
  const body = useRef<HTMLTableSectionElement>(null);
  const toggle = (row: Row | undefined) => {
    if (row === undefined || selected === undefined) return;
    const ids = new Set(selected.ids);
    if (!ids.delete(rowId(row))) ids.add(rowId(row));
    selected.onSelect(ids);
  };
  const move = (by: number) => setCurrent((at) => Math.min(rows.length - 1, Math.max(0, at + by)));
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each move
  useEffect(() => {
    body.current?.querySelector('[data-current]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  const here = rows[current];
  const open = () => here && onOpen?.(here);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => toggle(here),
    ...(here && { Enter: open }),
  });

  return (
    <Table.ScrollContainer className="stacked" minWidth={480}>
      <Table highlightOnHover aria-label={label} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            {selected !== undefined && (
              <Table.Th className="choice" w={40}>
                <Checkbox
                  aria-label={text.orders.selectAll}
                  checked={rows.length > 0 && rows.every((row) => selected.ids.has(rowId(row)))}
                  onChange={({ currentTarget: { checked } }) =>
                    selected.onSelect(new Set(checked ? rows.map(rowId) : []))
                  }
                />
              </Table.Th>
            )}
            {columns.map((column) => (
              <Header key={column.id} column={column} sorted={sorted} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody ref={body}>
          {rows.map((row, at) => (
            <Table.Tr
              key={rowId(row)}
              {...(onOpen === undefined
                ? {}
                : { className: 'row', onClick: ({ target }) => (target as Element).closest('a') ?? onOpen(row) })}
              {...(at === current ? { 'data-current': true } : {})}
            >
              {selected !== undefined && (
                <Table.Td className="choice" onClick={(event) => event.stopPropagation()}>
                  <Checkbox
                    aria-label={text.orders.selectOne}
                    checked={selected.ids.has(rowId(row))}
                    onChange={() => toggle(row)}
                  />
                </Table.Td>
              )}
              {columns.map((column) => (
                <Table.Td
                  key={column.id}
                  data-label={column.label}
                  data-priority={column.priority ?? 'none'}
                  {...(column.isNumber === true ? { className: 'number' } : {})}
                >
                  {column.cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Header<Row>({ column, sorted }: { readonly column: Column<Row>; readonly sorted: Props<Row>['sorted'] }) {
  const { label, sort, isNumber } = column;
  const className = isNumber === true ? { className: 'number' } : {};
  if (sort === undefined || sorted === undefined) return <Table.Th {...className}>{label}</Table.Th>;
  const direction = sorted.by === sort ? 'ascending' : sorted.by === `-${sort}` ? 'descending' : 'none';
  return (
    <Table.Th {...className} aria-sort={direction}>
      <UnstyledButton fw={700} fz="sm" onClick={() => sorted.onSort(direction === 'ascending' ? `-${sort}` : sort)}>
        {label} {direction === 'ascending' ? '↑' : direction === 'descending' ? '↓' : ''}
      </UnstyledButton>
    </Table.Th>
  );
}

/** Pages of a list with an exact total. */
export function Pages({ meta, onPage }: { readonly meta: PageMeta; readonly onPage: (page: number) => void }) {
  const text = useText();
  const number = useNumber();
  return (
    <Group justify="space-between">
      <Text size="sm">{text.common.rows(number(meta.total))}</Text>
      {meta.last_page > 1 && (
        <Pagination
          size="sm"
          total={meta.last_page}
          value={meta.current_page}
          onChange={onPage}
          getControlProps={(control) => ({
            'aria-label': control === 'next' ? text.common.next : text.common.previous,
          })}
          getItemProps={(page) => ({ 'aria-label': text.common.page(number(page), number(meta.last_page)) })}
        />
      )}
    </Group>
  );
}
