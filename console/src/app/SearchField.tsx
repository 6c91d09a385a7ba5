import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';

const AFTER_TYPING_MS = 300;

type Props = { readonly label: string; readonly value: string; readonly onSearch: (text: string) => void };

/** Searches when the typing pauses. The key `/` leads to it. */
export function SearchField({ label, value, onSearch }: Props) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const search = useDebouncedCallback(onSearch, AFTER_TYPING_MS);
  return (
    <TextInput
      data-search
      type="search"
      aria-label={label}
      placeholder={label}
      w="22rem"
      maw="100%"
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        search(currentTarget.value);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.currentTarget.blur();
      }}
    />
  );
}
