/** What fields are made of, in a form and in a grid: a plain input, and the text of a value that may not be changed. */
import { Stack, Text } from '@mantine/core';
import { type ComponentProps, type ReactNode, useId } from 'react';

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
