/**
 * Answers that are made and not yet taken by their clients lie in memory: a client that reads slowly, or not at all, shall
 * not fill it.
 */
import type { Response } from 'express';
import { MAX_ANSWER_BYTES_IN_FLIGHT, MAX_ANSWER_MS, MAX_TENANT_ANSWER_BYTES_IN_FLIGHT } from '../domain/limits.js';

/** So small an answer is not counted: the connection holds it, and a tenant has only so many requests at once. */
const SMALL_BYTES = 16_384;

export class AnswersInFlight {
  #bytes = 0;
  readonly #bytesOf = new Map<string, number>();

  /** May one more answer be made for this tenant? Where all tenants together have too much, those with nothing may. */
  hasRoom(tenant: string): boolean {
    const own = this.#bytesOf.get(tenant) ?? 0;
    return own === 0 || (own < MAX_TENANT_ANSWER_BYTES_IN_FLIGHT && this.#bytes < MAX_ANSWER_BYTES_IN_FLIGHT);
  }

  /** Counts an answer until its client has taken it, or has left. A client that takes too long is cut off. */
  add(tenant: string, bytes: number, res: Response): void {
    if (bytes <= SMALL_BYTES || res.closed) return;
    this.#count(tenant, bytes);
    const cut = setTimeout(() => res.destroy(), MAX_ANSWER_MS).unref();
    res.once('close', () => {
      clearTimeout(cut);
      this.#count(tenant, -bytes);
    });
  }

  #count(tenant: string, bytes: number): void {
    const own = (this.#bytesOf.get(tenant) ?? 0) + bytes;
    this.#bytes += bytes;
    if (own === 0) this.#bytesOf.delete(tenant);
    else this.#bytesOf.set(tenant, own);
  }
}
