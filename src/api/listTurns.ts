/**
 * Lists take turns. One may cost much, and no tenant shall wait for another's: tenants that wait are served one after the
 * other, none has all turns at once, and a list is given up when it takes too long or its client has left.
 */
import { MAX_WAITING_LISTS } from '../domain/limits.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { Deadline } from '../supervision/deadline.js';
import { FairQueue, TooManyWaitingError } from '../supervision/fairQueue.js';
import { HttpError } from './errors.js';
import type { RequestContext } from './requestContext.js';

export type ListLimits = {
  /** Lists in work at once. */
  readonly atOnce: number;
  /** Those of one tenant among them: fewer. */
  readonly ofOneTenant: number;
  /** Waiting included; at most what the request has left. */
  readonly timeoutMs: number;
};

export type List<Result> = {
  readonly tenant: string;
  /** What was written and is not shown yet: to wait for it takes neither a turn nor the list's time. */
  readonly until?: Promise<void> | undefined;
  /** Of its request: it is given up when the request's time is over, or its client has left. */
  readonly context: Pick<RequestContext, 'deadline' | 'atEnd'>;
  /** What the client is told to ask for instead when it takes too long. */
  readonly advice: () => string;
  /** Rejects soon after it is cancelled. */
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

  /** @throws HttpError 429 when too many lists of the tenant wait already, 503 when the time is over; else what `find` throws */
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
