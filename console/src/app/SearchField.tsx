import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';

const AFTER_TYPING_MS = 300;

type Props = {
  readonly label: string;
  readonly value: string;
  /** Id of a datalist that completes what is typed. */
  readonly list?: string;
  readonly w?: string;
  readonly onSearch: (text: string) => void;
};

/** Searches when the typing pauses, or at once by Enter and Escape. */
export function SearchField({ label, value, onSearch, ...more }: Props) {
  const [typed, setTyped] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  // What a person is typing is newer than what was searched.
  useEffect(() => {
    if (document.activeElement !== input.current) setTyped(value);
  }, [value]);
  const search = useDebouncedCallback(onSearch, AFTER_TYPING_MS);
  return (
    <TextInput
      ref={input}
      type="search"
      aria-label={label}
      placeholder={label}
      w="22rem"
      maw="100%"
      {...more}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        search(currentTarget.value);
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' && event.key !== 'Enter') return;
        // Escape leaves the field; browsers would empty it.
        event.preventDefault();
        search.flush();
        if (event.key === 'Escape') event.currentTarget.blur();
      }}
    />
  );
}
