/**
 * Lists take turns. One may cost much, and no tenant shall wait for another's: tenants that wait are served one after the
 * other, none has all turns at once, and a list is given up when it takes too long or its client has left.
 */
import type { Response } from 'express';
import { MAX_WAITING_LISTS } from '../domain/limits.js';
import { Cancellation } from '../supervision/cancellation.js';
import { TooManyWaitingError, Turns } from '../supervision/turns.js';
import { HttpError } from './errors.js';

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
  /** Its client leaves by closing it. */
  readonly res: Response;
  /** What the client is told to ask for instead when it takes too long. */
  readonly advice: string;
  /** Rejects soon after it is cancelled. */
  readonly find: (cancellation: Cancellation) => Promise<Result>;
};

const clientHasLeft = () => new HttpError(499, 'Client closed request.', 'The client has left.');

export class ListTurns {
  readonly #timeoutMs: number;
  readonly #turns: Turns;

  constructor({ atOnce, ofOneTenant, timeoutMs }: ListLimits) {
    this.#timeoutMs = timeoutMs;
    this.#turns = new Turns({ atOnce, ofGroup: ofOneTenant, waitingOfGroup: MAX_WAITING_LISTS });
  }

  /** @throws HttpError 429 when too many lists of the tenant wait already, 503 when the time is over; else what `find` throws */
  async run<Result>({ tenant, res, advice, find }: List<Result>): Promise<Result> {
    const cancellation = new Cancellation();
    const leave = (): void => cancellation.cancel(clientHasLeft());
    const timeoutMs = Math.min(this.#timeoutMs, res.req.context.deadline.leftMs);
    const timer = setTimeout(() => cancellation.cancel(tookTooLong(timeoutMs, advice)), timeoutMs);
    res.once('close', leave);
    if (res.closed) leave();
    try {
      return await this.#turns.run(tenant, () => find(cancellation), cancellation);
    } catch (error) {
      throw cancellation.reason ?? (error instanceof TooManyWaitingError ? tooMany() : error);
    } finally {
      clearTimeout(timer);
      res.off('close', leave);
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
