import { z } from 'zod';
import { MAX_LIST_BYTES } from './limits.js';

/** Of an array of a body: what its elements are, how many there may be, and what is said otherwise, after "The … field". */
export type ListRule<Element extends z.ZodType> = {
  readonly element: Element;
  readonly max: number;
  /** Said where it is no array. */
  readonly type: string;
  /** Said of its entries; `entries` by default. */
  readonly entries?: string;
  readonly min?: readonly [count: number, message: string];
};

/** An array whose length is checked before its elements: those of one that is too long cost nothing. */
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

/** To refine a list of texts with: their bytes in all, as JSON. */
export const withinListBytes = [
  (entries: unknown): boolean => Buffer.byteLength(JSON.stringify(entries)) <= MAX_LIST_BYTES,
  `must be at most ${MAX_LIST_BYTES} bytes of JSON.`,
] as const;
