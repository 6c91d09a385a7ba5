/** How a file is written: what was guessed of it, and can be changed before the import. */
import { Fieldset, Group, NumberInput, Select, Text, TextInput } from '@mantine/core';
import { useText } from '../app/language';
import type { Dialect } from './csv';

type Props = {
  readonly dialect: Dialect;
  readonly isBusy: boolean;
  readonly onChange: (dialect: Dialect) => void;
};

const PARTS = ['encoding', 'delimiter', 'decimal', 'dates'] as const;
const CHOICES: { readonly [part in (typeof PARTS)[number]]: { readonly [value in Dialect[part]]: string } } = {
  encoding: { 'utf-8': 'UTF-8', 'utf-16le': 'UTF-16 LE', 'windows-1252': 'Windows-1252' },
  delimiter: { ',': ',', ';': ';', '\t': 'Tab', '|': '|' },
  decimal: { '.': '1250.75', ',': '1250,75' },
  dates: { iso: '2026-01-31', dmy: '31-1-2026', mdy: '1/31/2026' },
};

export function DialectForm({ dialect, isBusy, onChange }: Props) {
  const text = useText().imports;
  return (
    <Fieldset legend={text.dialect} disabled={isBusy}>
      <Text size="sm">{text.dialectWhy}</Text>
      <Group align="end" mt="xs">
        <NumberInput
          label={text.header}
          w="10rem"
          min={1}
          allowDecimal={false}
          value={dialect.header}
          onChange={(header) => typeof header === 'number' && onChange({ ...dialect, header })}
        />
        {PARTS.map((part) => (
          <Select
            key={part}
            label={text[part]}
            w="10rem"
            allowDeselect={false}
            data={Object.entries(CHOICES[part]).map(([value, label]) => ({ value, label }))}
            value={dialect[part]}
            onChange={(value) => value !== null && onChange({ ...dialect, [part]: value })}
          />
        ))}
      </Group>
      <Group mt="md">
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
