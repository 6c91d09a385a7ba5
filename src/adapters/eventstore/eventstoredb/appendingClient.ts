import { convertToCommandError, EventStoreDBClient } from '@eventstore/db-client';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { AppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { AppendCall } from './appendCall.js';
import { type Append, type AppendOutcome, outcomeOf, toMessages } from './appendMessages.js';
import { isUnimplemented, NotSentError } from './errors.js';

/** Everything is asked of the leader: a follower may lack what another node has already shown. */
export const OF_LEADER = { requiresLeader: true } as const;

/**
 * Bytes of data and metadata up to which appends share a call. A larger one has a call of its own, so that small ones
 * need not wait until it has gone out; what it costs beyond that is little beside its bytes.
 */
const SHARED_BYTES = 32 * 1024;

/**
 * Calls that stay open at most. The library sends one message of a call in a turn of the event loop, and a server written
 * like it answers one: over one call, a process that is busy would append as slowly as its turns are long.
 */
const SHARED_CALLS = 16;

/** A call that stays open, from the moment in which it is asked for. */
type SharedCall = {
  readonly opened: Promise<AppendCall>;
  /** Appends that wait for their answer. */
  waiting: number;
};

/**
 * The client of a server. Its appends are made here, not by the library: that ends the process when a call that appends
 * share is lost under a write, fails the appends of all clients in the process with it, and lets them wait for good when
 * the server ends the call without an error. See docs/decisions/0020.
 */
export class AppendingClient extends EventStoreDBClient {
  readonly #shared = new Set<SharedCall>();
  /** Whether the server takes appends over a call that stays open. */
  #shares = true;

  /**
   * @param limitMs for how long an answer is waited for
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

  /** The open call in which the fewest wait; undefined where one more is better. */
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

  /** @param ended is called when the call has ended */
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

/** The library closes a channel when a call over it fails, perhaps while the next is about to be made. @throws NotSentError */
function inOpenChannel<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw new NotSentError('its channel was closed', { cause: error });
  }
}
