import { z } from 'zod';

/**
 * A list with at least one entry, whose length is checked before its elements, so that those of one that is too long cost
 * nothing. @param names of the elements; messages follow "The … field"
 */
export function boundedList<Element extends z.ZodType>(element: Element, max: number, names: string) {
  const message = `must have at most ${max} ${names}.`;
  const list = z.array(element, `must be an array of ${names}.`).min(1, 'must not be empty.').max(max, message);
  return z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length <= max) return value;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }, list);
}
