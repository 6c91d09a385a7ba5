/** The input for a field of any table, by its type; a look-up where it names a record. Its value is what the API takes and gives. */
import { Checkbox, Textarea, TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import type { AnyRecord, AssetField, AssetType } from '../api/client';
import { useLanguage } from '../app/language';
import { decimalMark, NoNumber, numberText, numberValue } from '../app/numberText';
import { CellInput, FieldText } from './Cell';
import { LookUp } from './LookUp';

type Props = {
  readonly field: AssetField;
  readonly reference: AssetType['relationships'][number] | undefined;
  /** The order or the part, with the record that each reference named when it was read. */
  readonly of: { readonly [field: string]: unknown };
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error?: string | undefined;
  readonly isDisabled?: boolean;
  /** In a grid the column's head is shown in place of the label. */
  readonly isInGrid?: boolean;
  readonly label?: string;
};

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value));
const orNull = (value: string): string | null => (value === '' ? null : value);

export function FieldInput(props: Props) {
  const { field, reference, of, value, onChange, error, isDisabled = false, isInGrid = false } = props;
  const { label = field.label } = props;
  const { language } = useLanguage();
  if (reference !== undefined) {
    const { table, key, name } = reference;
    // As it was read, unless another one was picked since.
    const known = of[name] as AnyRecord | null | undefined;
    const record = known?.[key] === value ? (known ?? null) : null;
    const shared = { label, isInGrid, onChange, error, isDisabled };
    return <LookUp {...shared} table={table} keyField={key} value={orNull(textOf(value))} record={record} />;
  }
  const isNumber = field.type === 'Decimal' || field.type === 'Integer';
  if (isDisabled) {
    const shown = field.type === 'Boolean' ? (value === true ? '✓' : '') : textOf(value);
    const text = isNumber ? numberText(value, decimalMark(language)) : shown;
    return <FieldText label={isInGrid ? undefined : label}>{text}</FieldText>;
  }
  const shared = {
    ...(isInGrid ? { 'aria-label': label } : { label, required: field.required }),
    error,
  };
  const Input = isInGrid ? CellInput : TextInput;
  const Long = !isInGrid && field.type === 'LongText' ? Textarea : Input;
  if (isNumber)
    return (
      <NumberField {...shared} as={Input} isInteger={field.type === 'Integer'} value={value} onChange={onChange} />
    );
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
}

type NumberProps = Pick<TextInputProps, 'label' | 'aria-label' | 'required' | 'error'> &
  Pick<Props, 'value' | 'onChange'> & { readonly as: typeof TextInput | typeof CellInput; readonly isInteger: boolean };

/** The service makes the number, as it can refuse what it cannot hold. */
function NumberField({ as: Input, isInteger, value, onChange, error, ...more }: NumberProps) {
  const { language, text } = useLanguage();
  const mark = decimalMark(language);
  const [typed, setTyped] = useState<string | undefined>();
  const read = (next: string): unknown => (next.trim() === '' ? null : numberValue(next, mark, isInteger));
  return (
    <Input
      {...more}
      inputMode="decimal"
      error={value instanceof NoNumber ? text.common.noNumber(mark) : error}
      value={typed ?? numberText(value, mark)}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange(read(currentTarget.value));
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}
