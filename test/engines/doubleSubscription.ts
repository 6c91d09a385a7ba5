/** A subscription to `$all` without a filter: what is stored, then what is new. */
import { once } from 'node:events';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js';
import streams, { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { DoubleLog, DoubleRecord } from './doubleLog.js';

export type ReadCall = ServerWritableStream<ReadReq, ReadResp | Buffer>;

/** The server's version: EventStoreDB 23.10, or KurrentDB 25.0, where some answers differ. */
export type Dialect = '23.10' | '25.0';

export class AllSubscription {
  readonly #log: DoubleLog;
  readonly #call: ReadCall;
  /** Resolves when the client has gone. */
  readonly #cancelled: Promise<unknown>;
  /** Position from which on nothing has been sent. */
  #next: number;

  constructor(log: DoubleLog, call: ReadCall, options: ReadReq.Options) {
    this.#log = log;
    this.#call = call;
    this.#next = firstPosition(log, options);
    this.#cancelled = once(call, 'cancelled');
  }

  async run(): Promise<void> {
    let grown: () => void = () => undefined;
    const unsubscribe = this.#log.onGrowth(() => grown());
    let live = false;
    while (!this.#call.cancelled) {
      const growth = new Promise<void>((resolve) => {
        grown = resolve;
      });
      const page = this.#log.from(this.#next);
      if (page.length > 0) {
        await this.#send(page);
        // Millions of events of others hold up no other call.
        if (!live) await eventLoopTurn();
      } else {
        live = true;
        await Promise.race([growth, this.#cancelled]);
      }
    }
    unsubscribe();
  }

  async #send(records: readonly DoubleRecord[]): Promise<void> {
    for (const record of records) {
      if (this.#call.cancelled) return;
      this.#next = record.end;
      if (!this.#call.write(readEvent(record))) await Promise.race([once(this.#call, 'drain'), this.#cancelled]);
    }
  }
}

/** The server takes the first event at or after the given position as seen. */
function firstPosition(log: DoubleLog, options: ReadReq.Options): number {
  const all = options.getAll();
  if (all?.hasPosition() !== true) return 0;
  const given = Number(all.getPosition()?.getCommitPosition());
  return log.from(given)[0]?.end ?? given;
}

const written = new WeakMap<DoubleRecord, Buffer>();

/** The answer with a record, as it goes over the wire: made once, since tests read the same events often. */
export function readEvent(record: DoubleRecord): Buffer {
  const known = written.get(record) ?? Buffer.from(readResponse(record).serializeBinary());
  written.set(record, known);
  return known;
}

function readResponse(record: DoubleRecord): ReadResp {
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new UUID().setString(record.id))
    .setStreamIdentifier(new StreamIdentifier().setStreamName(Buffer.from(record.stream)))
    .setStreamRevision(String(record.revision))
    .setCommitPosition(String(record.position))
    .setPreparePosition(String(record.position))
    .setData(record.data)
    .setCustomMetadata(record.metadata);
  recorded.getMetadataMap().set('type', record.type).set('content-type', record.contentType).set('created', '0');
  const event = new streams.ReadResp.ReadEvent().setEvent(recorded).setCommitPosition(String(record.position));
  return new streams.ReadResp().setEvent(event);
}

export function confirmation(): ReadResp {
  const confirmed = new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId('1');
  return new streams.ReadResp().setConfirmation(confirmed);
}
