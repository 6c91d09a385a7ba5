/** What is wrong with a body, field by field (spec §7). */
import { MAX_ERRORS } from '../limits.js';

/** Messages by field name, in the shape of the 422 body. */
export type FieldErrors = { readonly [field: string]: readonly string[] };

/**
 * Gathers the first MAX_ERRORS messages and counts the others: a body has as many mistakes as its sender likes. Field names
 * come from the outside, so `constructor` or `__proto__` must be names like any other.
 */
export class FieldErrorList {
  readonly #errors = new Map<string, string[]>();
  #count = 0;

  /** An error is told once: names that were cut may be the same. */
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

  /** Counts errors that need not be named. */
  addUnnamed(count: number): void {
    this.#count += count;
  }

  get count(): number {
    return this.#count;
  }

  /** How many more there were than are in `toErrors`. */
  get unnamed(): number {
    return Math.max(0, this.#count - MAX_ERRORS);
  }

  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors);
  }
}
