import { TextInput, type TextInputProps } from '@mantine/core';

type Props = Omit<TextInputProps, 'value' | 'onChange' | 'type' | 'step'> & {
  /** As the API has it, in UTC; '' for none. */
  readonly value: string;
  readonly onChange: (moment: string) => void;
};

/** A moment, which the person reads and gives in their own zone, and the API in UTC: only here is one made of the other. */
export function MomentInput({ value, onChange, ...more }: Props) {
  return (
    <TextInput
      {...more}
      type="datetime-local"
      step={1}
      value={localOf(value)}
      onChange={({ currentTarget }) =>
        onChange(currentTarget.value === '' ? '' : new Date(currentTarget.value).toISOString())
      }
    />
  );
}

function localOf(moment: string): string {
  const time = new Date(moment);
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
