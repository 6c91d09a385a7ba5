/** A request with an Idempotency-Key, which is carried out once, however often it is sent. */
import type { EventOf } from './eventTypes.js';

/**
 * The key is bound to this body from now on.
 * `body`: its hash. `id`: of the request, and of the record that it creates, unless the record's unique key had an id before
 * (decision 0022). `after`: for a change of a table, the revision of the table's stream after which its events stand.
 */
export type RequestAccepted = EventOf<
  'RequestAccepted',
  { readonly body: string; readonly id: string; readonly after?: number }
>;

/** The answer to the request: the record that it created or approved, or the counts of a batch or a clean-up. */
export type RequestAnswered = EventOf<'RequestAnswered', Answer>;

type Answer = { readonly [name: string]: unknown };

export type KeyedRequestEvent = RequestAccepted | RequestAnswered;

export type KeyedRequest = RequestAccepted['data'] & {
  /** When it was accepted; ISO 8601. */
  readonly at: string;
  /** Unset while it is carried out, and after a crash. */
  readonly answer?: Answer;
};

export function evolve(
  request: KeyedRequest | undefined,
  { type, data }: KeyedRequestEvent,
  at: string,
): KeyedRequest | undefined {
  switch (type) {
    case 'RequestAccepted':
      return { ...data, at };
    case 'RequestAnswered':
      return request && { ...request, answer: data };
  }
}
