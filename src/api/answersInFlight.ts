/** Answers wait in memory until their clients have taken them. This limits how many bytes slow clients can hold. */
import type { Response } from 'express';
import { MAX_ANSWER_BYTES_IN_FLIGHT, MAX_ANSWER_MS, MAX_TENANT_ANSWER_BYTES_IN_FLIGHT } from '../domain/limits.js';
import { Tally } from '../supervision/fairQueue.js';

export class AnswersInFlight {
  readonly #bytes = new Tally();

  /**
   * Whether one more answer may be made for this tenant. Over the service's limit, only tenants without a waiting
   * answer may.
   */
  hasRoom(tenant: string): boolean {
    const own = this.#bytes.of(tenant);
    return own === 0 || (own < MAX_TENANT_ANSWER_BYTES_IN_FLIGHT && this.#bytes.total < MAX_ANSWER_BYTES_IN_FLIGHT);
  }

  /**
   * Counts these bytes until the client has taken its answer or disconnected. A client that takes too long is cut off.
   * @param bytes 0 if the connection took the whole answer at once, as is usual
   */
  add(tenant: string, bytes: number, res: Response): void {
    if (bytes === 0 || res.closed) return;
    this.#bytes.add(tenant, bytes);
    const cut = setTimeout(() => res.destroy(), MAX_ANSWER_MS).unref();
    res.once('close', () => {
      clearTimeout(cut);
      this.#bytes.add(tenant, -bytes);
    });
  }
}
