/** The input for a field of any table, by its type; a look-up where it names a record. Its value is what the API takes and gives. */
import { Checkbox, Textarea, TextInput, type TextInputProps } from '@mantine/core';
import { memo, useState } from 'react';
import type { AnyRecord, AssetField, AssetType } from '../api/client';
import { useLanguage } from '../app/language';
import { decimalMark, NoNumber, numberText, numberValue } from '../app/numberText';
import { CellInput, FieldText, LookUp } from './LookUp';

type Props = {
  readonly field: AssetField;
  readonly reference: AssetType['relationships'][number] | undefined;
  /** The order or the part, with the record that each reference named when it was read. */
  readonly of: { readonly [field: string]: unknown };
  readonly value: unknown;
  readonly onChange: (value: unknown, name: string) => void;
  readonly error?: string | undefined;
  readonly isDisabled?: boolean;
  /** In a grid the column's head is shown in place of the label. */
  readonly isInGrid?: boolean;
  readonly label?: string;
};

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value));
const orNull = (value: string): string | null => (value === '' ? null : value);

/** Rendered again only where it changes. */
export const FieldInput = memo((props: Props) => {
  const { field, reference, of, value, error, isDisabled = false, isInGrid = false } = props;
  const { label = field.label } = props;
  const onChange = (to: unknown) => props.onChange(to, field.name);
  if (reference !== undefined) {
    const { table, key, name } = reference;
    // As it was read, unless another one was picked since.
    const known = of[name] as AnyRecord | null | undefined;
    const record = known?.[key] === value ? (known ?? null) : null;
    const shared = { label, isInGrid, onChange, error, isDisabled };
    return <LookUp {...shared} table={table} keyField={key} value={orNull(textOf(value))} record={record} />;
  }
  const isNumber = field.type === 'Decimal' || field.type === 'Integer';
  if (isDisabled) return <FieldText label={isInGrid ? undefined : label} value={value} />;
  const shared = {
    ...(isInGrid ? { 'aria-label': label } : { label, required: field.required }),
    error,
  };
  const Input = isInGrid ? CellInput : TextInput;
  const Long = !isInGrid && field.type === 'LongText' ? Textarea : Input;
  if (isNumber) return <NumberField {...shared} as={Input} {...{ field, value }} onChange={props.onChange} />;
  if (field.type === 'Boolean')
    return (
      <Checkbox
        {...shared}
        checked={value === true}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    );
  return (
    <Long
      {...shared}
      {...(Long === Textarea ? { autosize: true, maxRows: 8 } : { type: field.type === 'Date' ? 'date' : 'text' })}
      maxLength={field.max_length ?? undefined}
      value={textOf(value)}
      onChange={({ currentTarget }) => onChange(orNull(currentTarget.value))}
    />
  );
});

type NumberProps = Pick<TextInputProps, 'label' | 'aria-label' | 'required' | 'error'> &
  Pick<Props, 'field' | 'value' | 'onChange'> & { readonly as: typeof TextInput | typeof CellInput };

/** The service makes the number, as it can refuse what it cannot hold. */
function NumberField({ as: Input, field, value, onChange, error, ...more }: NumberProps) {
  const { language, text } = useLanguage();
  const mark = decimalMark(language);
  const [typed, setTyped] = useState<string | undefined>();
  const read = (next: string) => (next.trim() === '' ? null : numberValue(next, mark, field.type === 'Integer'));
  return (
    <Input
      {...more}
      inputMode="decimal"
      error={value instanceof NoNumber ? text.common.noNumber(mark) : error}
      value={typed ?? numberText(value, mark)}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange(read(currentTarget.value), field.name);
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}
