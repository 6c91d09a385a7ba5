/**
 * Lists take turns. One may cost much, and no tenant shall wait for another's: tenants that wait are served one after the
 * other, none has all turns at once, and a list is given up when it takes too long or its client has left.
 */
import type { Response } from 'express';
import { MAX_WAITING_LISTS } from '../domain/limits.js';
import { Cancellation } from '../supervision/cancellation.js';
import { HttpError } from './errors.js';

export type ListLimits = {
  /** Lists in work at once. */
  readonly atOnce: number;
  /** Those of one tenant among them: fewer. */
  readonly ofOneTenant: number;
  /** From the request on, waiting included. */
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
  readonly #limits: ListLimits;
  #inWork = 0;
  readonly #inWorkOf = new Map<string, number>();
  /** Those that wait, by tenant: tenants in the order of their next turns, and of a tenant the first that came. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limits: ListLimits) {
    this.#limits = limits;
  }

  /** @throws HttpError 429 when too many lists of the tenant wait already, 503 when the time is over; else what `find` throws */
  async run<Result>({ tenant, res, advice, find }: List<Result>): Promise<Result> {
    const { timeoutMs } = this.#limits;
    const cancellation = new Cancellation();
    const leave = (): void => cancellation.cancel(clientHasLeft());
    const timer = setTimeout(() => cancellation.cancel(tookTooLong(timeoutMs, advice)), timeoutMs);
    res.once('close', leave);
    if (res.closed) leave();
    try {
      await this.#turn(tenant, cancellation);
      try {
        return await find(cancellation);
      } finally {
        this.#end(tenant);
      }
    } catch (error) {
      throw cancellation.reason ?? error;
    } finally {
      clearTimeout(timer);
      res.off('close', leave);
    }
  }

  /** Resolves when it is this list's turn, which is then begun. */
  async #turn(tenant: string, cancellation: Cancellation): Promise<void> {
    cancellation.throwIfCancelled();
    if (this.#canBegin(tenant)) {
      this.#begin(tenant);
      return;
    }
    const line = this.#waiting.get(tenant) ?? [];
    if (line.length >= MAX_WAITING_LISTS) {
      throw new HttpError(429, 'Too many requests.', `${MAX_WAITING_LISTS} lists of this tenant wait already.`, {
        'Retry-After': '1',
      });
    }
    this.#waiting.set(tenant, line);
    await new Promise<void>((resolve, reject) => {
      line.push(resolve);
      cancellation.onCancel(() => {
        const place = line.indexOf(resolve);
        if (place < 0) return;
        line.splice(place, 1);
        if (line.length === 0) this.#waiting.delete(tenant);
        reject(cancellation.reason);
      });
    });
  }

  #canBegin(tenant: string): boolean {
    return this.#inWork < this.#limits.atOnce && (this.#inWorkOf.get(tenant) ?? 0) < this.#limits.ofOneTenant;
  }

  #begin(tenant: string): void {
    this.#inWork += 1;
    this.#inWorkOf.set(tenant, (this.#inWorkOf.get(tenant) ?? 0) + 1);
  }

  #end(tenant: string): void {
    const left = (this.#inWorkOf.get(tenant) ?? 1) - 1;
    if (left > 0) this.#inWorkOf.set(tenant, left);
    else this.#inWorkOf.delete(tenant);
    this.#inWork -= 1;
    this.#beginNext();
  }

  #beginNext(): void {
    for (const [tenant, line] of this.#waiting) {
      if (!this.#canBegin(tenant)) continue;
      const begin = line.shift();
      this.#waiting.delete(tenant);
      // Behind all others that wait.
      if (line.length > 0) this.#waiting.set(tenant, line);
      this.#begin(tenant);
      begin?.();
    }
  }
}

const tookTooLong = (timeoutMs: number, advice: string): HttpError =>
  new HttpError(503, 'The list took too long.', `It was given up after ${timeoutMs / 1000} s. ${advice}`, {
    'Retry-After': '1',
  });
