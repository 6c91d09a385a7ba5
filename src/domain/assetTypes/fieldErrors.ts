/** The errors of a body by field (spec §7). */
import type { z } from 'zod';
import { MAX_ERRORS } from '../limits.js';
import { shownName } from '../shownName.js';

/** Messages by field name, as in the body of a 422. */
export type FieldErrors = { readonly [field: string]: readonly string[] };

/** The first MAX_ERRORS messages. Field names come from outside, so `__proto__` must be a name like any other. */
export class FieldErrorList {
  readonly #errors = new Map<string, string[]>();
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get isFull(): boolean {
    return this.#count >= MAX_ERRORS;
  }

  /** Adds an error once: shortened names may be equal. */
  add(field: string, message: string): void {
    const messages = this.#errors.get(field) ?? [];
    if (this.isFull || messages.includes(message)) return;
    this.#count += 1;
    this.#errors.set(field, [...messages, message]);
  }

  addAll(errors: FieldErrors, prefix = ''): void {
    for (const [field, messages] of Object.entries(errors)) {
      for (const message of messages) this.add(`${prefix}${field}`, message);
    }
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

  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors);
  }
}
