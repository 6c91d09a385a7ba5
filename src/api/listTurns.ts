/**
 * Lists run in turns, since one may be expensive and must not delay other tenants. Waiting tenants are served
 * round-robin, none may take all turns, and a list is cancelled when it takes too long or its client disconnects.
 */
import { MAX_WAITING_LISTS } from '../domain/limits.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { Deadline } from '../supervision/deadline.js';
import { FairQueue, TooManyWaitingError } from '../supervision/fairQueue.js';
import { HttpError } from './errors.js';
import type { RequestContext } from './requestContext.js';

export type ListLimits = {
  /** Lists that run at once. */
  readonly atOnce: number;
  /** Lists of one tenant that run at once; fewer than `atOnce`. */
  readonly ofOneTenant: number;
  /** Time limit including the wait; never more than the request has left. */
  readonly timeoutMs: number;
};

export type List<Result> = {
  readonly tenant: string;
  /** Resolves when earlier writes are shown. This wait takes neither a turn nor the list's time. */
  readonly until?: Promise<void> | undefined;
  /** The list is cancelled at the request's deadline, or when its client disconnects. */
  readonly context: Pick<RequestContext, 'deadline' | 'atEnd'>;
  /** What to ask for instead, for a list that takes too long. */
  readonly advice: () => string;
  /** Must reject soon after its cancellation. */
  readonly find: (cancellation: Cancellation) => Promise<Result>;
};

const clientHasLeft = () => new HttpError(499, 'Client closed request.', 'The client has left.');

export class ListTurns {
  readonly #timeoutMs: number;
  readonly #turns: FairQueue;

  constructor({ atOnce, ofOneTenant, timeoutMs }: ListLimits) {
    this.#timeoutMs = timeoutMs;
    this.#turns = new FairQueue({ atOnce, ofGroup: ofOneTenant, waitingOfGroup: MAX_WAITING_LISTS });
  }

  /** @throws HttpError 429 if too many lists of the tenant wait, 503 at the time limit; errors of `find` */
  async run<Result>({ tenant, until, context, advice, find }: List<Result>): Promise<Result> {
    if (until !== undefined) await context.deadline.within(until);
    const timeoutMs = Math.min(this.#timeoutMs, context.deadline.leftMs);
    const deadline = new Deadline(timeoutMs, () => tookTooLong(timeoutMs, advice()));
    let isFound = false;
    context.atEnd(() => {
      if (!isFound) deadline.cancel(clientHasLeft());
    });
    try {
      return await this.#turns.run(tenant, () => find(deadline), deadline);
    } catch (error) {
      throw deadline.reason ?? (error instanceof TooManyWaitingError ? tooMany() : error);
    } finally {
      isFound = true;
      deadline.end();
    }
  }
}

const tooMany = (): HttpError =>
  new HttpError(429, 'Too many requests.', `${MAX_WAITING_LISTS} lists of this tenant wait already.`, {
    'Retry-After': '1',
  });

const tookTooLong = (timeoutMs: number, advice: string): HttpError => {
  const seconds = Math.round(timeoutMs / 10) / 100;
  return new HttpError(503, 'The list took too long.', `It was given up after ${seconds} s. ${advice}`, {
    'Retry-After': '1',
  });
};
