/**
 * Limits the large bodies that are read and processed at once: each takes several times its size in memory. When a
 * tenant has enough of them in progress, its next ones wait unread without delaying other tenants.
 */
import type { Request, Response } from 'express';
import { MAX_BODY_BYTES_IN_WORK, MAX_TENANT_BODY_BYTES_IN_WORK, MAX_WAITING_BODIES } from '../domain/limits.js';
import { Tally } from '../supervision/fairQueue.js';
import { HttpError, TOOK_TOO_LONG } from './errors.js';

type Waiting = { readonly tenant: string; readonly bytes: number; readonly enter: () => void };

/** Smaller bodies are not counted: even one for each connection is no burden. */
const SMALL_BYTES = 65_536;

export class BodiesInWork {
  readonly #bytes = new Tally();
  readonly #waiting = new Set<Waiting>();

  /**
   * Resolves when the body may be read.
   * @param limitBytes counted for a body of unknown size
   * @returns a function to call when the request is done
   * @throws HttpError 429 if too many wait, 503 if the request's deadline passes first
   */
  async enter(tenant: string, req: Request, res: Response, limitBytes: number): Promise<() => void> {
    const bytes = Math.min(sizeOf(req) ?? limitBytes, limitBytes);
    if (bytes <= SMALL_BYTES) return () => {};
    if (this.#hasRoom(tenant, bytes)) this.#bytes.add(tenant, bytes);
    else await this.#wait(tenant, bytes, req, res);
    return () => this.#leave(tenant, bytes);
  }

  /** A tenant without a body in progress always has room. */
  #hasRoom(tenant: string, bytes: number): boolean {
    const own = this.#bytes.of(tenant);
    if (own === 0) return true;
    return own + bytes <= MAX_TENANT_BODY_BYTES_IN_WORK && this.#bytes.total + bytes <= MAX_BODY_BYTES_IN_WORK;
  }

  #wait(tenant: string, bytes: number, { context: { deadline } }: Request, res: Response): Promise<void> {
    const waitingOfTenant = [...this.#waiting].filter((each) => each.tenant === tenant).length;
    if (waitingOfTenant >= MAX_WAITING_BODIES) throw tooMany();
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => (): void => {
        this.#waiting.delete(waiting);
        forget();
        res.off('close', left);
        settle();
      };
      const waiting: Waiting = { tenant, bytes, enter: end(resolve) };
      const left = end(() => reject(tooMany()));
      const forget = deadline.onCancel(end(() => reject(waitedTooLong())));
      res.once('close', left);
      this.#waiting.add(waiting);
    });
  }

  #leave(tenant: string, bytes: number): void {
    this.#bytes.add(tenant, -bytes);
    for (const waiting of [...this.#waiting]) {
      if (!this.#hasRoom(waiting.tenant, waiting.bytes)) continue;
      this.#bytes.add(waiting.tenant, waiting.bytes);
      waiting.enter();
    }
  }
}

const tooMany = (): HttpError =>
  new HttpError(429, 'Too many requests.', 'Too many large bodies of this tenant are in work; send fewer at once.', {
    'Retry-After': '1',
  });

const waitedTooLong = (): HttpError =>
  new HttpError(503, TOOK_TOO_LONG, 'Too many large bodies of this tenant are in work; send fewer at once.', {
    'Retry-After': '1',
  });

/** Size of the body after decoding; undefined if it is only known after reading. */
function sizeOf({ headers }: Request): number | undefined {
  const encoding = headers['content-encoding'] ?? 'identity';
  const length = headers['content-length'];
  return length === undefined || encoding.toLowerCase() !== 'identity' ? undefined : Number(length);
}
