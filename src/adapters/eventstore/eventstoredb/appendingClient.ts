/** Appends and their outcomes in the server's protocol: over calls that stay open, and in calls of their own. */
import { randomUUID } from 'node:crypto';
import { convertToCommandError, EventStoreDBClient, WrongExpectedVersionError } from '@eventstore/db-client';
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams, {
  type AppendReq,
  type AppendResp,
  type BatchAppendReq,
  type BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { ExpectedRevision, Position, Revision } from '../../../ports/eventStore.js';
import { TimeLimitError } from '../../../supervision/waiting.js';
import { type EncodedEvent, toPosition } from './encoding.js';
import { CutOffError, cutOff, isUnimplemented, NotSentError } from './errors.js';

/** All calls go to the leader: a follower may lack what another node has already shown. */
export const OF_LEADER = { requiresLeader: true } as const;

/**
 * The largest append, in bytes of data and metadata, that shares a call. A larger one gets a call of its own, so that small
 * ones need not wait for it; its overhead is small beside its size.
 */
const SHARED_BYTES = 32 * 1024;

/**
 * Limit of open calls. The library sends one message per call and turn of the event loop, and such a server answers
 * one: over a single call, a busy process would append only as fast as its event loop turns.
 */
const SHARED_CALLS = 16;

/** A call that stays open. It counts from the moment when it is requested. */
type SharedCall = {
  readonly opened: Promise<AppendCall>;
  /** Appends without an answer. */
  waiting: number;
};

/**
 * A server's client that makes its own appends, because the library's have three faults: the process ends if a call that
 * appends share is lost during a write, such a call fails the appends of all clients in the process, and appends wait for
 * ever if the server ends the call without an error. See docs/decisions/0020.
 */
export class AppendingClient extends EventStoreDBClient {
  readonly #shared = new Set<SharedCall>();
  /** Whether the server supports appends over an open call. */
  #shares = true;

  /**
   * @param limitMs limit for the answer
   * @throws what the client throws; NotSentError, CutOffError and TimeLimitError
   */
  async append(append: Append, limitMs: number): Promise<AppendOutcome> {
    if (!this.#shares || bytesOf(append) > SHARED_BYTES) return this.#appendAlone(append, limitMs);
    const call = this.#leastBusy() ?? this.#openShared();
    call.waiting += 1;
    try {
      return await (await call.opened).send(append, limitMs);
    } catch (error) {
      if (!isUnimplemented(error)) throw error;
      this.#shares = false;
      return this.#appendAlone(append, limitMs);
    } finally {
      call.waiting -= 1;
    }
  }

  /** The open call with the fewest waiting appends; undefined if another call should be opened. */
  #leastBusy(): SharedCall | undefined {
    const [first, ...others] = this.#shared;
    const leastBusy = others.reduce((least, each) => (each.waiting < (least?.waiting ?? 0) ? each : least), first);
    return leastBusy?.waiting === 0 || this.#shared.size === SHARED_CALLS ? leastBusy : undefined;
  }

  #openShared(): SharedCall {
    const ended = (): void => {
      this.#shared.delete(call);
    };
    const call: SharedCall = { opened: this.#open(ended), waiting: 0 };
    this.#shared.add(call);
    call.opened.catch(ended);
    return call;
  }

  /** @param ended called when the call has ended */
  async #open(ended: () => void): Promise<AppendCall> {
    let opened: AppendCall | undefined;
    await this.GRPCStreamCreator(StreamsClient, 'batchAppend', (client) => {
      const [metadata, options] = this.callArguments(OF_LEADER, { deadline: Number.POSITIVE_INFINITY });
      const duplex = inOpenChannel(() => client.batchAppend(metadata, options));
      opened = new AppendCall(duplex, ended);
      return duplex;
    })();
    if (opened === undefined) throw new NotSentError('no call was made');
    return opened;
  }

  #appendAlone(append: Append, limitMs: number): Promise<AppendOutcome> {
    return this.execute(StreamsClient, 'append', async (client) => {
      const [metadata, options] = this.callArguments({ ...OF_LEADER, deadline: limitMs });
      const answer = await new Promise<AppendResp>((resolve, reject) => {
        const call = inOpenChannel(() =>
          client.append(metadata, options, (error, given) => {
            if (error === null) resolve(given);
            else reject(convertToCommandError(error));
          }),
        );
        call.on('error', reject);
        for (const message of toMessages(append)) call.write(message);
        call.end();
      });
      return outcomeOf(answer, append.stream);
    });
  }
}

const bytesOf = ({ events }: Append): number =>
  events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);

/** The library closes a channel when a call over it fails, perhaps just before the next call. @throws NotSentError */
function inOpenChannel<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw new NotSentError('its channel was closed', { cause: error });
  }
}

/** The client's side of a call of `BatchAppend`. */
type AppendDuplex = ReturnType<StreamsClient['batchAppend']>;

type Waiting = {
  readonly stream: string;
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: unknown) => void;
  readonly overdue: NodeJS.Timeout;
};

/**
 * One gRPC call that stays open and carries many appends. Each answer names its append. When the call ends, for any
 * reason, all appends without an answer are rejected.
 */
class AppendCall {
  readonly #duplex: AppendDuplex;
  readonly #onEnd: () => void;
  readonly #waiting = new Map<string, Waiting>();
  /** Answers so far. */
  #answers = 0;
  #ended = false;

  /** Create it in the same turn of the event loop as the call: an error before the listener would end the process. */
  constructor(duplex: AppendDuplex, onEnd: () => void) {
    this.#duplex = duplex;
    this.#onEnd = onEnd;
    duplex.on('data', (answer: BatchAppendResp) => this.#take(answer));
    // Stays attached: a call may report several errors, and an error without a listener ends the process.
    duplex.on('error', (error) => this.#end(cutOff(error)));
    // Servers of versions 24.6 to 24.10.2 end the call like this when they fail, or when another node leads.
    duplex.on('end', () => this.#end(new CutOffError('the server ended the call')));
  }

  /**
   * @param limitMs limit for the answer
   * @throws what the client throws, NotSentError, CutOffError, and TimeLimitError
   */
  send(append: Append, limitMs: number): Promise<AppendOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#ended) throw new NotSentError('the call has just ended');
      const id = randomUUID();
      const { stream } = append;
      const message = toMessage(id, append);
      const before = this.#answers;
      const overdue = setTimeout(() => this.#giveUp(id, before, limitMs), limitMs);
      this.#waiting.set(id, { stream, resolve, reject, overdue });
      // Not awaited: the data on its way is bounded by the number of appends in flight and by their size.
      this.#duplex.write(message);
    });
  }

  #take(answer: BatchAppendResp): void {
    this.#answers += 1;
    const waiting = this.#settled(idOf(answer));
    if (waiting === undefined) return;
    try {
      waiting.resolve(outcomeOf(answer, waiting.stream));
    } catch (error) {
      waiting.reject(error);
    }
  }

  /** If nothing at all was answered meanwhile, the server hangs, and unsent messages must not pile up. */
  #giveUp(id: string, answersBefore: number, limitMs: number): void {
    this.#settled(id)?.reject(new TimeLimitError(`the append took over ${limitMs} ms`));
    if (this.#answers === answersBefore) this.#end(new CutOffError('the server does not answer'));
  }

  #settled(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    clearTimeout(waiting?.overdue);
    this.#waiting.delete(id);
    return waiting;
  }

  #end(reason: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    for (const id of this.#waiting.keys()) this.#settled(id)?.reject(reason);
    this.#duplex.cancel();
    this.#duplex.destroy();
  }
}

/** One message of an open call, or one call of its own. */
export type Append = {
  readonly stream: string;
  readonly events: readonly EncodedEvent[];
  readonly expectedRevision: ExpectedRevision;
};

/** The last event's revision and position. The answer to an append that was already stored may lack the position. */
export type Appended = { readonly revision: Revision; readonly position: Position | undefined };

export type AppendOutcome = Appended | 'conflict';

/**
 * No deadline is sent: the server would compare it with its own clock, and refuse all appends of a service whose clock
 * is slow. The caller waits no longer than its own deadline.
 */
function toMessage(id: string, { stream, events, expectedRevision }: Append): BatchAppendReq {
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(identifierOf(stream));
  if (expectedRevision === 'any') options.setAny(new shared.Empty());
  else if (expectedRevision === 'no-stream') options.setNoStream(new shared.Empty());
  else options.setStreamPosition(String(expectedRevision));
  return new streams.BatchAppendReq()
    .setCorrelationId(new shared.UUID().setString(id))
    .setOptions(options)
    .setProposedMessagesList(events.map((event) => withEvent(new streams.BatchAppendReq.ProposedMessage(), event)))
    .setIsFinal(true);
}

/** The messages of an append in a call of its own. */
function* toMessages({ stream, events, expectedRevision }: Append): Generator<AppendReq> {
  const options = new streams.AppendReq.Options().setStreamIdentifier(identifierOf(stream));
  if (expectedRevision === 'any') options.setAny(new shared.Empty());
  else if (expectedRevision === 'no-stream') options.setNoStream(new shared.Empty());
  else options.setRevision(String(expectedRevision));
  yield new streams.AppendReq().setOptions(options);
  for (const event of events) {
    yield new streams.AppendReq().setProposedMessage(withEvent(new streams.AppendReq.ProposedMessage(), event));
  }
}

/** The id of the append that this answers. */
const idOf = (answer: BatchAppendResp): string => answer.getCorrelationId()?.getString() ?? '';

/** @throws what the client throws for such an answer */
function outcomeOf(answer: BatchAppendResp | AppendResp, stream: string): AppendOutcome {
  const success = answer.getSuccess();
  if (success !== undefined) {
    const commit = success.getPosition()?.getCommitPosition();
    return {
      revision: Number(success.getCurrentRevision()),
      position: commit === undefined ? undefined : toPosition(BigInt(commit)),
    };
  }
  const status = 'getError' in answer ? answer.getError() : undefined;
  if (status === undefined) return 'conflict';
  const error = unpackToCommandError(status, stream);
  if (error instanceof WrongExpectedVersionError) return 'conflict';
  throw error;
}

const identifierOf = (stream: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(stream));

/** Passes bytes on unchanged: the client would serialise the data once more, and encode both in base64. */
function withEvent<M extends AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage>(
  message: M,
  event: EncodedEvent,
): M {
  message.setId(new shared.UUID().setString(event.id)).setData(event.data).setCustomMetadata(event.metadata);
  message.getMetadataMap().set('type', event.type).set('content-type', 'application/json');
  return message;
}
