import { z } from 'zod';

/** The rule of an array in a body. Messages follow "The … field". */
type ListRule<Element extends z.ZodType> = {
  readonly element: Element;
  readonly max: number;
  /** Message for a value that is no array. */
  readonly type: string;
  /** Name of the entries in messages; `entries` by default. */
  readonly entries?: string;
  readonly min?: readonly [count: number, message: string];
};

/** An array whose length is checked before its elements, so that the elements of one that is too long cost nothing. */
export function boundedList<Element extends z.ZodType>({
  element,
  max,
  type,
  entries = 'entries',
  min,
}: ListRule<Element>) {
  const message = `must have at most ${max} ${entries}.`;
  const list = z.array(element, type).max(max, message);
  return z.preprocess(
    (value, context) => {
      if (!Array.isArray(value) || value.length <= max) return value;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    },
    min === undefined ? list : list.min(...min),
  );
}
