/** How a file is written: what was guessed of it, and can be changed before the import. */
import { Fieldset, Group, NumberInput, Select, Text, TextInput } from '@mantine/core';
import { useText } from '../app/language';
import type { Dialect } from './csv';

type Props = {
  readonly dialect: Dialect;
  readonly isBusy: boolean;
  readonly onChange: (dialect: Dialect) => void;
};
type Named<Part extends keyof Dialect> = { readonly [value in Dialect[Part]]: string };

const ENCODINGS: Named<'encoding'> = { 'utf-8': 'UTF-8', 'utf-16le': 'UTF-16 LE', 'windows-1252': 'Windows-1252' };
const DELIMITERS: Named<'delimiter'> = { ',': ',', ';': ';', '\t': 'Tab', '|': '|' };
const DECIMALS: Named<'decimal'> = { '.': '1250.75', ',': '1250,75' };
const DATES: Named<'dates'> = { iso: '2026-01-31', dmy: '31-1-2026', mdy: '1/31/2026' };

export function DialectForm({ dialect, isBusy, onChange }: Props) {
  const text = useText().imports;
  const choices = [
    ['encoding', ENCODINGS],
    ['delimiter', DELIMITERS],
    ['decimal', DECIMALS],
    ['dates', DATES],
  ] as const;
  return (
    <Fieldset legend={text.dialect} disabled={isBusy}>
      <Text size="sm">{text.dialectWhy}</Text>
      <Group align="end">
        <NumberInput
          label={text.header}
          w="10rem"
          min={1}
          allowDecimal={false}
          value={dialect.header}
          onChange={(header) => typeof header === 'number' && onChange({ ...dialect, header })}
        />
        {choices.map(([part, names]) => (
          <Select
            key={part}
            label={text[part]}
            w="10rem"
            allowDeselect={false}
            data={Object.entries(names).map(([value, label]) => ({ value, label }))}
            value={dialect[part]}
            onChange={(value) => value !== null && onChange({ ...dialect, [part]: value })}
          />
        ))}
        {(['yes', 'no'] as const).map((part) => (
          <TextInput
            key={part}
            label={text[part]}
            w="14rem"
            value={dialect[part]}
            onChange={({ currentTarget }) => onChange({ ...dialect, [part]: currentTarget.value })}
          />
        ))}
      </Group>
    </Fieldset>
  );
}
