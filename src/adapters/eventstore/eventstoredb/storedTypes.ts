import { ANY, type EventStoreDBClient } from '@eventstore/db-client';
import { v5 as nameBasedUuid } from 'uuid';
import type { EventToAppend } from '../../../ports/eventStore.js';
import type { AppendOptions } from './connection.js';
import { STORED_TYPES_STREAM } from './encoding.js';
import type { LogReader } from './logReader.js';

type StoredType = { readonly type: string; readonly schemaVersion: number };

/** Made once at random; names the ids of the list's events (RFC 9562 §5.5). */
const NAMESPACE = '0f6f4c1e-7a0b-4d6e-9c55-3b1d2a8f9e47';

const key = ({ type, schemaVersion }: StoredType): string => `${schemaVersion} ${type}`;

/**
 * Which event types are stored. The server has no cheap answer, so this keeps a small stream: one event for each type
 * and schema version, written before the first event of that type. After a crash in between the list names a type that
 * no event has, never the other way round.
 */
export class StoredTypes {
  readonly #client: EventStoreDBClient;
  readonly #reader: LogReader;
  readonly #options: AppendOptions;
  readonly #known = new Set<string>();

  constructor(client: EventStoreDBClient, reader: LogReader, options: AppendOptions) {
    this.#client = client;
    this.#reader = reader;
    this.#options = options;
  }

  async read(): Promise<readonly StoredType[]> {
    const types = new Map<string, StoredType>();
    for (const { data } of await this.#reader.rawStream(STORED_TYPES_STREAM)) {
      const { type, schemaVersion } = Object(data);
      if (typeof type === 'string' && typeof schemaVersion === 'number') {
        types.set(key({ type, schemaVersion }), { type, schemaVersion });
      }
    }
    for (const known of types.keys()) this.#known.add(known);
    return [...types.values()];
  }

  /** Whether the types of these events are known to be on the list. */
  has(events: readonly EventToAppend[]): boolean {
    return this.#missing(events).length === 0;
  }

  /** Puts the types of these events on the list. @throws what the client throws */
  async add(events: readonly EventToAppend[], deadline: number): Promise<void> {
    await this.read();
    const missing = this.#missing(events);
    if (missing.length === 0) return;
    const listed = missing.map((type) => ({
      // The same for every process, so that several which add a type at the same time store it once.
      id: nameBasedUuid(key(type), NAMESPACE),
      type: 'EventTypeStored',
      contentType: 'application/json' as const,
      data: type,
      metadata: undefined,
    }));
    const options = { ...this.#options, expectedRevision: ANY, deadline } as const;
    await this.#client.appendToStream(STORED_TYPES_STREAM, listed, options);
    for (const type of missing) this.#known.add(key(type));
  }

  #missing(events: readonly EventToAppend[]): readonly StoredType[] {
    const missing = new Map<string, StoredType>();
    for (const { type, metadata } of events) {
      const each = { type, schemaVersion: metadata.schemaVersion };
      if (!this.#known.has(key(each))) missing.set(key(each), each);
    }
    return [...missing.values()];
  }
}
