/** A field whose value is the key of a record of another table: found by typing. */
import { Select, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type AnyRecord, api, bodyOf } from '../api/client';
import { useText } from '../app/language';
import { FieldText } from './FieldInput';

type Props = {
  readonly table: string;
  /** The field of that table which the value names. */
  readonly keyField: string;
  readonly value: string | null;
  readonly onChange: (value: string | null) => void;
  /** The record that the value names now, if it is known. */
  readonly record: AnyRecord | null;
  readonly label?: string;
  readonly ariaLabel?: string;
  readonly error?: string | undefined;
  readonly isDisabled?: boolean;
};

const LOOKED_UP = 25;
const AFTER_TYPING_MS = 200;

/** What a person calls a record, of the fields that standard tables have. */
export function nameOf({ name, code, value, external_id, id }: AnyRecord): string {
  const parts = [name ?? value, code ?? external_id].filter((part) => typeof part === 'string' && part !== '');
  return parts.length === 0 ? id : parts.join(' · ');
}

export function LookUp(props: Props) {
  const { table, keyField, value, onChange, record, label, ariaLabel, error, isDisabled = false } = props;
  const text = useText();
  const [typed, setTyped] = useState('');
  const [isOpen, setOpen] = useState(false);
  // A grid may have hundreds: what opens is made where the person goes.
  const [isHere, setHere] = useState(label !== undefined);
  const [search] = useDebouncedValue(typed, AFTER_TYPING_MS);
  const shownName = record === null ? (value ?? '') : nameOf(record);
  const found = useQuery({
    queryKey: ['look-up', table, search],
    queryFn: async () => {
      const query = { perPage: LOOKED_UP, search: search === shownName ? undefined : search } as object;
      const answer = await bodyOf(
        api.GET('/api/v1/platform/tables/{table}/assets', { params: { path: { table }, query } }),
      );
      return answer.data as readonly AnyRecord[];
    },
    enabled: isOpen,
    placeholderData: (before) => before,
  });
  const options = new Map((found.data ?? []).map((each) => [String(each[keyField]), nameOf(each)]));
  if (isDisabled) return <FieldText label={label}>{shownName}</FieldText>;
  if (!isHere) {
    return (
      <TextInput
        role="combobox"
        aria-expanded={false}
        aria-label={ariaLabel}
        placeholder={text.orders.lookUp}
        value={shownName}
        onChange={() => undefined}
        onFocus={() => setHere(true)}
        error={error}
      />
    );
  }
  if (value !== null && !options.has(value)) options.set(value, shownName === '' ? value : shownName);
  return (
    <Select
      label={label}
      aria-label={ariaLabel ?? label}
      placeholder={text.orders.lookUp}
      searchable
      autoFocus={label === undefined}
      onFocus={({ currentTarget }) => currentTarget.select()}
      clearable={label !== undefined}
      selectFirstOptionOnChange
      nothingFoundMessage={found.isFetching ? text.common.loading : text.orders.nothingFound}
      data={[...options].map(([key, name]) => ({ value: key, label: name }))}
      // The API has searched already.
      filter={({ options: all }) => all}
      value={value}
      onChange={onChange}
      onSearchChange={setTyped}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      error={error}
    />
  );
}
