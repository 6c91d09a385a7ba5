import { TextInput, type TextInputProps } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import type { CellInput } from '../orders/FieldInput';
import { dayIn, dayText, localOf, momentIn, momentText, orderOf } from './dateText';
import { localeOf, useLanguage } from './language';

type Props = Pick<TextInputProps, 'label' | 'aria-label' | 'required' | 'error'> & {
  readonly as?: typeof TextInput | typeof CellInput;
  /** As the API has it: a day, or a moment in UTC; '' for none. */
  readonly value: string;
  /** Given what was typed where that is none, unless it is for a filter. */
  readonly onChange: (value: string) => void;
  readonly isMoment?: boolean;
  readonly isFilter?: boolean;
};

/** A date in digits as the page's language has them, or from the browser's calendar: its own field would speak its own language. */
export function DateInput({ as: Input = TextInput, value, onChange, isMoment = false, isFilter, ...more }: Props) {
  const { language, text } = useLanguage();
  const locale = localeOf(language);
  const calendar = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState<string | undefined>();
  const [isHere, setHere] = useState(false);
  const [readIn, shownAs] = isMoment ? [momentIn, momentText] : [dayIn, dayText];
  const shown = typed ?? shownAs(value, locale);
  const read = shown === '' ? '' : readIn(shown, orderOf(locale));
  // What was typed and is no date stays until there is another value.
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each change of the value
  useEffect(() => {
    if (!isHere) setTyped(undefined);
  }, [value]);
  const change = (next: string, to = next === '' ? '' : readIn(next, orderOf(locale))) => {
    setTyped(next);
    if (to !== undefined || isFilter !== true) onChange(to ?? next);
  };
  return (
    <Input
      {...more}
      error={read === undefined && !isHere ? text.common.noDate(dayText('2026-12-31', locale)) : more.error}
      value={shown}
      onChange={({ currentTarget }) => change(currentTarget.value)}
      onFocus={() => setHere(true)}
      onBlur={() => {
        setHere(false);
        if (read !== undefined) setTyped(undefined);
      }}
      rightSection={
        <>
          <input
            ref={calendar}
            className="calendar"
            type={isMoment ? 'datetime-local' : 'date'}
            step={isMoment ? 1 : undefined}
            tabIndex={-1}
            aria-hidden
            value={isMoment ? localOf(value) : (read ?? '')}
            onChange={({ currentTarget: { value: day } }) => change(day)}
          />
          <button
            type="button"
            className="icon"
            data-page="calendar"
            tabIndex={-1}
            aria-label={`${text.common.calendar}: ${more['aria-label'] ?? more.label}`}
            onClick={() => calendar.current?.showPicker()}
          />
        </>
      }
    />
  );
}
