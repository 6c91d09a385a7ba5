/** The input for a field of any table, by its type. Its value is what the API takes and gives. */
import { Checkbox, Select, Stack, Text, Textarea, TextInput, type TextInputProps } from '@mantine/core';
import { type ComponentProps, type ReactNode, useId, useState } from 'react';
import type { AssetField } from '../api/client';
import { useLanguage } from '../app/language';
import { decimalMark, NoNumber, numberText, numberValue } from '../app/numberText';

type Props = {
  readonly field: AssetField;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error?: string | undefined;
  readonly isDisabled?: boolean;
  /** In a grid the column's head is the label. */
  readonly isInGrid?: boolean;
  readonly ariaLabel?: string;
};

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : String(value));
const orNull = (value: string): string | null => (value === '' ? null : value);

/** A value that the person may not change reads as text. */
export function FieldText({ label, children }: { readonly label: string | undefined; readonly children: string }) {
  const value = (
    <Text size="sm" className="text">
      {children === '' ? '–' : children}
    </Text>
  );
  if (label === undefined) return value;
  return (
    <Stack gap={2}>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      {value}
    </Stack>
  );
}

export function FieldInput(props: Props) {
  const { field, value, onChange, error, isDisabled = false, isInGrid = false, ariaLabel = field.label } = props;
  const { language } = useLanguage();
  if (isDisabled) {
    const shown = field.type === 'Boolean' ? (value === true ? '✓' : '') : textOf(value);
    const isNumber = field.type === 'Decimal' || field.type === 'Integer';
    const text = isNumber ? numberText(value, decimalMark(language)) : shown;
    return <FieldText label={isInGrid ? undefined : field.label}>{text}</FieldText>;
  }
  const shared = {
    ...(isInGrid ? { 'aria-label': ariaLabel } : { label: field.label, required: field.required }),
    error,
  };
  const Input = isInGrid ? CellInput : TextInput;
  if (field.one_of !== null) {
    return (
      <Select
        {...shared}
        data={field.one_of}
        value={orNull(textOf(value))}
        clearable={!field.required}
        onChange={onChange}
      />
    );
  }
  switch (field.type) {
    case 'Boolean':
      return (
        <Checkbox
          {...shared}
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      );
    case 'Integer':
    case 'Decimal':
      return (
        <NumberField {...shared} as={Input} isInteger={field.type === 'Integer'} value={value} onChange={onChange} />
      );
    case 'LongText':
      if (isInGrid) break;
      return (
        <Textarea
          {...shared}
          autosize
          maxRows={8}
          value={textOf(value)}
          onChange={({ currentTarget }) => onChange(orNull(currentTarget.value))}
        />
      );
    default:
  }
  return (
    <Input
      {...shared}
      type={field.type === 'Date' ? 'date' : 'text'}
      maxLength={field.max_length ?? undefined}
      value={textOf(value)}
      onChange={({ currentTarget }) => onChange(orNull(currentTarget.value))}
    />
  );
}

type CellProps = ComponentProps<'input'> & { readonly error?: ReactNode };

/** A grid has thousands: a plain input takes a tenth of the time of a TextInput. */
export function CellInput({ error, ...props }: CellProps) {
  const id = useId();
  const isWrong = error !== undefined;
  return (
    <>
      <div className="cell">
        <input {...props} aria-invalid={isWrong} {...(isWrong ? { 'aria-describedby': id } : {})} />
      </div>
      {isWrong && (
        <div className="wrong" id={id}>
          {error}
        </div>
      )}
    </>
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
