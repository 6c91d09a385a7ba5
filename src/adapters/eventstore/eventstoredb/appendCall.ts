import { randomUUID } from 'node:crypto';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { TimeLimitError } from '../../../supervision/waiting.js';
import { type Append, type AppendOutcome, idOf, outcomeOf, toMessage } from './appendMessages.js';
import { CutOffError, cutOff, NotSentError } from './errors.js';

/** The client's side of a call of `BatchAppend`. */
export type AppendDuplex = ReturnType<StreamsClient['batchAppend']>;

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
export class AppendCall {
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
