/** The errors of a body by field (spec §7). */
import { MAX_ERRORS } from '../limits.js';

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
