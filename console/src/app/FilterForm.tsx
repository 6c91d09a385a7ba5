import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useText } from './language';

type Props = { readonly onSearch: () => void; readonly onClear: () => void; readonly children: ReactNode };

/** Filters of one list that are sent together, once the person has filled them in. */
export function FilterForm({ onSearch, onClear, children }: Props) {
  const text = useText();
  return (
    <Group
      component="form"
      gap="xs"
      align="flex-end"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch();
      }}
    >
      {children}
      <Button type="submit">{text.common.search}</Button>
      <Button variant="default" onClick={onClear}>
        {text.common.clearFilters}
      </Button>
    </Group>
  );
}
