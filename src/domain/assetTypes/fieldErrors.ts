/** The errors of a body by field (spec §7). */
import type { z } from 'zod';
import { MAX_ERRORS } from '../limits.js';
import { shownName } from '../shownName.js';

/** Messages by field name, as in the body of a 422. */
export type FieldErrors = { readonly [field: string]: readonly string[] };

/**
 * Collects the first MAX_ERRORS messages and counts the others. Field names come from outside, so `constructor` and
 * `__proto__` must be names like any other.
 */
export class FieldErrorList {
  readonly #errors = new Map<string, string[]>();
  #count = 0;

  /** Adds an error once: shortened names may be equal. */
  add(field: string, message: string): void {
    const messages = this.#errors.get(field);
    if (messages?.includes(message) === true) return;
    this.#count += 1;
    if (this.#count > MAX_ERRORS) return;
    if (messages === undefined) this.#errors.set(field, [message]);
    else messages.push(message);
  }

  addAll(errors: FieldErrors, prefix = ''): void {
    for (const [field, messages] of Object.entries(errors)) {
      for (const message of messages) this.add(`${prefix}${field}`, message);
    }
  }

  has(field: string): boolean {
    return this.#errors.has(field);
  }

  /**
   * What zod says of a body. Its messages follow "The … field".
   * @param isAbsent whether the body has no value at the issue's path
   */
  addIssues(issues: readonly z.core.$ZodIssue[], isAbsent: (issue: z.core.$ZodIssue) => boolean): void {
    for (const issue of issues) {
      const field = issue.path.join('.');
      if (issue.code === 'unrecognized_keys') {
        for (const name of issue.keys.map(shownName))
          this.add(field === '' ? name : `${field}.${name}`, `${name} is not a known field.`);
      } else if (field === '') this.add('body', 'The body must be a JSON object.');
      else this.add(field, `The ${field} field ${isAbsent(issue) ? 'is required.' : issue.message}`);
    }
  }

  /** Counts errors without listing them. */
  addUnnamed(count: number): void {
    this.#count += count;
  }

  get count(): number {
    return this.#count;
  }

  /** How many errors are not in `toErrors`. */
  get unnamed(): number {
    return Math.max(0, this.#count - MAX_ERRORS);
  }

  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors);
  }
}
