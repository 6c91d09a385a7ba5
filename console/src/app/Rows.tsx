/** A table that is read: it scrolls sideways where it is wider than the window, also by keys. */
import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

export type Head = { readonly label: string; readonly isNumber?: boolean; readonly isText?: boolean };
type Props = {
  readonly label: string;
  readonly heads: readonly Head[];
  readonly rows: readonly { readonly id: string; readonly cells: readonly ReactNode[] }[];
  readonly minWidth?: number;
};

const classOf = ({ isNumber, isText }: Head) =>
  isNumber === true ? { className: 'number' } : isText === true ? { className: 'text' } : {};

export function Rows({ label, heads, rows, minWidth = 500 }: Props) {
  return (
    <Table.ScrollContainer minWidth={minWidth} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {heads.map((head) => (
              <Table.Th key={head.label} {...classOf(head)}>
                {head.label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ id, cells }) => (
            <Table.Tr key={id}>
              {heads.map((head, at) => (
                <Table.Td key={head.label} {...classOf(head)}>
                  {cells[at]}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

type FactsProps = { readonly label: string; readonly facts: readonly (readonly [string, ReactNode])[] };

/** What something is, one property a line. */
export function Facts({ label, facts }: FactsProps) {
  return (
    <Table w="auto" style={{ alignSelf: 'start' }} aria-label={label}>
      <Table.Tbody>
        {facts.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" fw={400}>
              {name}
            </Table.Th>
            <Table.Td className="text">{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
