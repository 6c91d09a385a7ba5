/** The input for a value of an order or of a part: a look-up where it names a record of another table. */
import type { AnyRecord, AssetField, AssetType } from '../api/client';
import { FieldInput } from './FieldInput';
import { LookUp } from './LookUp';

type Props = Parameters<typeof FieldInput>[0] & {
  readonly field: AssetField;
  readonly reference: AssetType['relationships'][number] | undefined;
  /** The order or the part, with the record that each reference named when it was read. */
  readonly of: { readonly [field: string]: unknown };
};

export function ValueInput({ reference, of, ...props }: Props) {
  if (reference === undefined) return <FieldInput {...props} />;
  const { field, value, isInGrid = false, ...more } = props;
  return (
    <LookUp
      {...(isInGrid ? {} : { label: field.label })}
      table={reference.table}
      keyField={reference.key}
      value={typeof value === 'string' ? value : null}
      record={recordOf(of[reference.name], reference.key, value)}
      {...more}
    />
  );
}

/** The record that the document has for a reference, unless the reference was changed since. */
function recordOf(record: unknown, key: string, value: unknown): AnyRecord | null {
  if (typeof record !== 'object' || record === null) return null;
  const known = record as AnyRecord;
  return known[key] === value ? known : null;
}
