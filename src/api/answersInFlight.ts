/**
 * Answers that are made and not yet taken by their clients lie in memory: a client that reads slowly, or not at all, shall
 * not fill it.
 */
import type { Response } from 'express';
import { MAX_ANSWER_BYTES_IN_FLIGHT, MAX_ANSWER_MS, MAX_TENANT_ANSWER_BYTES_IN_FLIGHT } from '../domain/limits.js';
import { Tally } from '../supervision/tally.js';

export class AnswersInFlight {
  readonly #bytes = new Tally();

  /** May one more answer be made for this tenant? Where all tenants together have too much, those with nothing may. */
  hasRoom(tenant: string): boolean {
    const own = this.#bytes.of(tenant);
    return own === 0 || (own < MAX_TENANT_ANSWER_BYTES_IN_FLIGHT && this.#bytes.total < MAX_ANSWER_BYTES_IN_FLIGHT);
  }

  /**
   * Counts so many bytes until the client has taken its answer, or has left. A client that takes too long is cut off.
   * @param bytes 0, as nearly always, of an answer that the connection took whole
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
