/** Events that "migrate --erase" has written without their erased values. */
import { createHash } from 'node:crypto';
import type { ErasedBytesRemoved, Erasures } from '../domain/erasure.js';
import { ERASURES_STREAM } from '../domain/streams.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import { leafOf, type NamedEvent, named } from './leaf.js';
import { leafHash } from './merkle.js';

/** Events with an impossible time, and erased ones that no erasure concerns, that a verification names. */
export const MAX_NAMED_EVENTS = 10;

export type ErasedBytes = {
  readonly events: number;
  /** The first of those that no erasure of the log concerns, or that still have a value that it erases. */
  readonly unnamed: readonly NamedEvent[];
  /** Whether the others are as the last `ErasedBytesRemoved` says; true without such events. */
  readonly isSealed: boolean;
};

/** The event without what is erased, and with the hash of its leaf as it was; the same event if it keeps all. */
export function withoutErasedBytes(erasures: Erasures, event: RecordedEvent): RecordedEvent {
  const redacted = erasures.redact(event);
  if (redacted === event) return event;
  const erasedLeaf = event.metadata.erasedLeaf ?? leafHash(Buffer.from(leafOf(event))).toString('base64');
  return { ...redacted, metadata: { ...redacted.metadata, erasedLeaf } };
}

/** Call `add` with each event in log order. */
export class ErasedEvents {
  readonly #erasures: Erasures;
  readonly #hash = createHash('sha256');
  readonly #unnamed: NamedEvent[] = [];
  #events = 0;
  #seal: { readonly events: number; readonly holds: boolean } = { events: 0, holds: true };

  constructor(erasures: Erasures) {
    this.#erasures = erasures;
  }

  add(event: RecordedEvent, index: number): void {
    const { stream, type, metadata } = event;
    if (stream === ERASURES_STREAM && type === 'ErasedBytesRemoved') {
      const { events, sha256 } = event.data as ErasedBytesRemoved['data'];
      this.#seal = { events, holds: events === this.#events && sha256 === this.#sha256() };
    }
    if (metadata.erasedLeaf === undefined) return;
    this.#events += 1;
    this.#hash.update(leafHash(Buffer.from(leafOf(event))));
    const { event: redacted, concerned } = this.#erasures.redaction(event);
    if (concerned && redacted === event) return;
    if (this.#unnamed.length < MAX_NAMED_EVENTS) this.#unnamed.push(named(event, index));
  }

  found(): ErasedBytes {
    const isSealed = this.#seal.holds && this.#seal.events === this.#events;
    return { events: this.#events, unnamed: this.#unnamed, isSealed };
  }

  /** What seals them; undefined if there is none, or they are sealed. */
  seal(): ErasedBytesRemoved['data'] | undefined {
    return this.found().isSealed ? undefined : { events: this.#events, sha256: this.#sha256() };
  }

  #sha256 = (): string => this.#hash.copy().digest('hex');
}
