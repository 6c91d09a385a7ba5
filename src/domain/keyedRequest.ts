/** A request that its client named with a key (Idempotency-Key), so that it is carried out once however often it is sent. */
import type { RecordView } from './assetTypes/assetType.js';
import type { EventOf } from './eventTypes.js';

/**
 * The key stands for this body from now on.
 * `body`: hash of it. `id`: what it creates has this id, unless a key of a table brings its own (decision 0022).
 */
export type RequestAccepted = EventOf<'RequestAccepted', { readonly body: string; readonly id: string }>;

/** What the request was answered with: the record as it was created, and the lists of parts of an order that was sent with some. */
export type RequestAnswered = EventOf<'RequestAnswered', Answer>;

type Answer = {
  readonly record: RecordView;
  readonly lists?: { readonly [name: string]: unknown };
};

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
