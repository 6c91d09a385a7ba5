/** Messages by field name, in the shape of the 422 body (spec §7). */
export type FieldErrors = { readonly [field: string]: readonly string[] };

/** Gathers messages; field names come from the outside, so `constructor` or `__proto__` must be names like any other. */
export class FieldErrorList {
  readonly #errors = new Map<string, string[]>();

  add(field: string, message: string): void {
    const messages = this.#errors.get(field);
    if (messages === undefined) this.#errors.set(field, [message]);
    else messages.push(message);
  }

  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors);
  }
}
