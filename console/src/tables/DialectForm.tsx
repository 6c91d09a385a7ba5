/** How a file is written: what was guessed of it, and can be changed before the import. */
import { Fieldset, Group, NumberInput, Select, Text, TextInput } from '@mantine/core';
import { useText } from '../app/language';
import { DATES, DECIMAL_MARKS, DELIMITERS, type Dialect, ENCODINGS } from './csv';

const ENCODING_NAMES = { 'utf-8': 'UTF-8', 'utf-16le': 'UTF-16 LE', 'windows-1252': 'Windows-1252' } as const;

type OneOfProps<T> = {
  readonly label: string;
  readonly among: readonly T[];
  readonly value: T;
  readonly nameOf: (value: T) => string;
  readonly onChange: (value: T) => void;
};

function OneOf<T extends string>({ label, among, value, nameOf, onChange }: OneOfProps<T>) {
  return (
    <Select
      label={label}
      w="10rem"
      allowDeselect={false}
      data={among.map((each) => ({ value: each, label: nameOf(each) }))}
      value={value}
      onChange={(name) => {
        const chosen = among.find((each) => each === name);
        if (chosen !== undefined) onChange(chosen);
      }}
    />
  );
}

type Props = { readonly dialect: Dialect; readonly onChange: (dialect: Dialect) => void };

export function DialectForm({ dialect, onChange }: Props) {
  const text = useText().imports;
  const change = (part: Partial<Dialect>) => onChange({ ...dialect, ...part });
  const dates = { iso: text.iso, dmy: '31-1-2026', mdy: '1/31/2026' };
  return (
    <Fieldset legend={text.dialect}>
      <Text size="sm">{text.dialectWhy}</Text>
      <Group align="start">
        <OneOf
          label={text.encoding}
          among={ENCODINGS}
          value={dialect.encoding}
          nameOf={(each) => ENCODING_NAMES[each]}
          onChange={(encoding) => change({ encoding })}
        />
        <OneOf
          label={text.delimiter}
          among={DELIMITERS}
          value={dialect.delimiter}
          nameOf={(each) => (each === '\t' ? 'Tab' : each)}
          onChange={(delimiter) => change({ delimiter })}
        />
        <NumberInput
          label={text.header}
          w="10rem"
          min={1}
          allowDecimal={false}
          value={dialect.header}
          onChange={(header) => typeof header === 'number' && change({ header })}
        />
        <OneOf
          label={text.decimal}
          among={DECIMAL_MARKS}
          value={dialect.decimal}
          nameOf={(each) => `1250${each}75`}
          onChange={(decimal) => change({ decimal })}
        />
        <OneOf
          label={text.dates}
          among={DATES}
          value={dialect.dates}
          nameOf={(each) => dates[each]}
          onChange={(each) => change({ dates: each })}
        />
        <TextInput
          label={text.yes}
          value={dialect.yes}
          onChange={({ currentTarget }) => change({ yes: currentTarget.value })}
        />
        <TextInput
          label={text.no}
          value={dialect.no}
          onChange={({ currentTarget }) => change({ no: currentTarget.value })}
        />
      </Group>
    </Fieldset>
  );
}
