import { convertToCommandError, EventStoreDBClient } from '@eventstore/db-client';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { AppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { AppendCall } from './appendCall.js';
import { type Append, type AppendOutcome, outcomeOf, toMessages } from './appendMessages.js';
import { isUnimplemented, NotSentError } from './errors.js';

/** All calls go to the leader: a follower may lack what another node has already shown. */
export const OF_LEADER = { requiresLeader: true } as const;

/**
 * Appends of up to so many bytes of data and metadata share a call. A larger one gets a call of its own, so that small
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
    const call = this.#idlest() ?? this.#openShared();
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
  #idlest(): SharedCall | undefined {
    const [first, ...others] = this.#shared;
    const idlest = others.reduce((least, each) => (each.waiting < (least?.waiting ?? 0) ? each : least), first);
    return idlest?.waiting === 0 || this.#shared.size === SHARED_CALLS ? idlest : undefined;
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
