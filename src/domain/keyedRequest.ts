/** A request that its client named with a key (Idempotency-Key), so that it is carried out once however often it is sent. */
import type { EventOf } from './eventTypes.js';

/**
 * The key stands for this body from now on.
 * `body`: hash of it. `id`: of the request; a record that it creates gets it, unless a key of a table brings its own
 * (decision 0022). `after`: of a batch or a clean-up, the revision of its table's stream, behind which its events stand.
 */
export type RequestAccepted = EventOf<
  'RequestAccepted',
  { readonly body: string; readonly id: string; readonly after?: number }
>;

/** What the request was answered with: a record as it was created or approved, or what a batch or a clean-up counted. */
export type RequestAnswered = EventOf<'RequestAnswered', Answer>;

type Answer = { readonly [name: string]: unknown };

export type KeyedRequestEvent = RequestAccepted | RequestAnswered;

export type KeyedRequest = RequestAccepted['data'] & {
  /** When it was accepted; ISO 8601. */
  readonly at: string;
  /** Unset while it is carried out, and where the process has died meanwhile. */
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
