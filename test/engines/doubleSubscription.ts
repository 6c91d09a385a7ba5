/** A filtered subscription to `$all`, as the server runs it: pages, checkpoints, then live. */
import { once } from 'node:events';
import { setImmediate as eventLoopTurn, setTimeout as wait } from 'node:timers/promises';
import { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js';
import streams, { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { DoubleLog, DoubleRecord } from './doubleLog.js';

export type ReadCall = ServerWritableStream<ReadReq, ReadResp | Buffer>;

/** The server's version: EventStoreDB 23.10, or KurrentDB 25.0, where some answers differ. */
export type Dialect = '23.10' | '25.0';

/** Events that match in one page. */
const PAGE = 32;

export class AllSubscription {
  readonly #log: DoubleLog;
  readonly #call: ReadCall;
  readonly #allowed: (record: DoubleRecord) => boolean;
  readonly #window: number;
  readonly #dialect: Dialect;
  /** Resolves when the client has gone. */
  readonly #cancelled: Promise<unknown>;
  /** Position from which on nothing has been looked at. */
  #next: number;
  #considered = 0;
  #last: DoubleRecord | undefined;
  readonly #delayMs: () => number;

  /** @param delayMs how late new events are sent */
  constructor(log: DoubleLog, call: ReadCall, options: ReadReq.Options, dialect: Dialect, delayMs: () => number) {
    this.#dialect = dialect;
    this.#log = log;
    this.#delayMs = delayMs;
    this.#call = call;
    this.#allowed = allowed(options.getFilter());
    const filter = options.getFilter();
    this.#window = filter?.hasMax() === true ? filter.getMax() : PAGE;
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
        await this.#send(page, live);
        // Millions of events of others hold up no other call.
        if (!live) await eventLoopTurn();
      } else {
        if (!live) this.#caughtUp();
        live = true;
        await Promise.race([growth, this.#cancelled]);
        if (this.#delayMs() > 0) await wait(this.#delayMs(), undefined, { ref: false });
      }
    }
    unsubscribe();
  }

  #caughtUp(): void {
    if (this.#dialect === '25.0' && this.#last !== undefined) this.#call.write(checkpoint(this.#last.position));
    this.#call.write(caughtUp());
  }

  async #send(records: readonly DoubleRecord[], live: boolean): Promise<void> {
    for (const record of records) {
      if (this.#call.cancelled) return;
      const pageStart = this.#next;
      this.#next = record.end;
      this.#considered += 1;
      this.#last = record;
      const matches = this.#allowed(record);
      if (matches && !this.#call.write(readEvent(record))) {
        await Promise.race([once(this.#call, 'drain'), this.#cancelled]);
      }
      if (this.#considered < this.#window) continue;
      this.#considered = 0;
      // In the catch-up the server names the start of the page where nothing in it matched.
      this.#call.write(checkpoint(live || matches ? record.position : pageStart));
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

function allowed(filter: ReadReq.Options.FilterOptions | undefined): (record: DoubleRecord) => boolean {
  const expression = filter?.getStreamIdentifier();
  const source = expression?.getRegex() ?? '';
  const regex = new RegExp(source);
  if (source !== '') return ({ stream }) => regex.test(stream);
  const prefixes = expression?.getPrefixList() ?? [];
  if (prefixes.length === 0) throw new Error('A filter must have a prefix or a regular expression.');
  return ({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix));
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

function caughtUp(): ReadResp {
  return new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp());
}

function checkpoint(position: number): ReadResp {
  const reached = new streams.ReadResp.Checkpoint();
  reached.setCommitPosition(String(position)).setPreparePosition(String(position));
  return new streams.ReadResp().setCheckpoint(reached);
}
