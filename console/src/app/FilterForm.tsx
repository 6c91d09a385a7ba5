import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useText } from './language';

type Props = { readonly onSearch: () => void; readonly onClear: () => void; readonly children: ReactNode };

/** Fields of which many narrow one list, so that it is read when all are filled in. */
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
