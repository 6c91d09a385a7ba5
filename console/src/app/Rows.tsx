/** What is only read: tables, properties, values. */
import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import type { AnyRecord } from '../api/client';
import { useLanguage, When } from './language';
import { decimalMark, numberText } from './numberText';

type Head = { readonly label: string; readonly isNumber?: boolean; readonly isText?: boolean };
type Props = {
  readonly label: string;
  /** A label alone is of short texts. */
  readonly heads: readonly (string | Head)[];
  readonly rows: readonly { readonly id: string; readonly cells: readonly ReactNode[] }[];
  readonly none?: ReactNode;
};

const classOf = ({ isNumber, isText }: Head) =>
  isNumber === true ? { className: 'number' } : isText === true ? { className: 'text' } : {};

/** It scrolls sideways where it is wider than the window, also by keys; on a phone each value has a line with its label. */
export function Rows({ label, heads, rows, none }: Props) {
  if (rows.length === 0 && none !== undefined) return none;
  const columns = heads.map((head) => (typeof head === 'string' ? { label: head } : head));
  return (
    <Table.ScrollContainer className="stacked" minWidth={500} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {columns.map((head) => (
              <Table.Th key={head.label} {...classOf(head)}>
                {head.label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ id, cells }) => (
            <Table.Tr key={id}>
              {columns.map((head, at) => (
                <Table.Td key={head.label} data-label={head.label} {...classOf(head)}>
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

type FactsProps = {
  readonly label: string;
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
};

/** What something is, one property a line. */
export function Facts({ label, facts }: FactsProps) {
  return (
    <Table w="auto" style={{ alignSelf: 'start' }} aria-label={label}>
      <Table.Tbody>
        {facts.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" fw={400}>
              <bdi>{name}</bdi>
            </Table.Th>
            <Table.Td className="text">{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** Beside each other: each turns the direction of its own text only. */
export const Names = ({ children }: { readonly children: readonly string[] }) =>
  [...new Set(children)].map((name, at) => [at > 0 && ' · ', <bdi key={name}>{name.slice(0, 300)}</bdi>]);

/** One line of texts of any length; the whole of it is shown on hover. */
export function Cut({ children }: { readonly children: string | readonly string[] | null | undefined }) {
  const texts = [children ?? []].flat().filter((each) => each !== '');
  if (texts.length === 0) return null;
  return (
    <div className="cut" title={texts.join(' · ').slice(0, 2_000)}>
      <Names>{texts}</Names>
    </div>
  );
}

/** The value of any field as text. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const MOMENT = /^\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?$/;

/** The value of any field; a date is shown as all dates are, a number as people type it. */
export function Value({ children }: { readonly children?: unknown }) {
  const { language, text: words } = useLanguage();
  if (typeof children === 'boolean') return children ? words.common.yes : words.common.no;
  const text = typeof children === 'number' ? numberText(children, decimalMark(language)) : valueText(children);
  return MOMENT.test(text) ? <When at={text} /> : <bdi>{text || '–'}</bdi>;
}

/** What a record is called: the first of these fields that it has. */
export const titleOf = (record: AnyRecord): string =>
  valueText(record.name ?? record.external_id ?? record.code ?? record.id);

/** Fields of every record, which pages show apart from its own. */
export const SYSTEM_FIELDS: readonly string[] = ['id', 'created_at', 'updated_at'];
