/**
 * Runs what keeps something of the log in memory, behind a listener that stays: when the log turns out to be another one
 * than before, all of it is closed and opened anew, so nothing that was known before is left.
 */
import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { Backoff } from '../supervision/keepRunning.js';
import { sleep } from '../supervision/waiting.js';

export type Parts = {
  readonly app: RequestListener;
  close(): Promise<void>;
};

/** @param onReplaced to be called when the log is not the one that was opened */
export type OpenParts<P extends Parts> = (onReplaced: () => void) => Promise<P>;

const BACKOFF = { firstMs: 500, longestMs: 10_000 };

export class Restartable<P extends Parts> {
  readonly #open: OpenParts<P>;
  /** What answers while there are no parts. */
  readonly #meanwhile: RequestListener;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #running: { readonly parts: P; readonly isOpen: boolean };
  #restart: Promise<void> = Promise.resolve();

  private constructor(open: OpenParts<P>, meanwhile: RequestListener, log: Logger, parts: P) {
    this.#open = open;
    this.#meanwhile = meanwhile;
    this.#log = log;
    this.#running = { parts, isOpen: true };
  }

  /** @throws what opening throws the first time; later it is tried again until it succeeds */
  static async start<P extends Parts>(
    open: OpenParts<P>,
    meanwhile: RequestListener,
    log: Logger,
  ): Promise<Restartable<P>> {
    let replaced = (): void => undefined;
    const parts = await open(() => replaced());
    const started = new Restartable(open, meanwhile, log, parts);
    replaced = () => started.#replaced(parts);
    return started;
  }

  /** Those that were opened last. */
  get parts(): P {
    return this.#running.parts;
  }

  readonly listener: RequestListener = (req, res) => {
    const { parts, isOpen } = this.#running;
    (isOpen ? parts.app : this.#meanwhile)(req, res);
  };

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#restart;
    if (this.#running.isOpen) await this.#running.parts.close();
  }

  #replaced(parts: P): void {
    const { signal } = this.#stopping;
    if (signal.aborted || !this.#running.isOpen || parts !== this.#running.parts) return;
    this.#running = { parts, isOpen: false };
    this.#log.error(
      'the event log is not the one from before: it was put back to an older copy, or is another one; the service starts anew on it',
    );
    this.#restart = this.#startAnew(parts, signal);
  }

  async #startAnew(parts: P, signal: AbortSignal): Promise<void> {
    await parts.close().catch((err: unknown) => this.#log.warn({ err }, 'not all of the service could be closed'));
    const backoff = new Backoff(BACKOFF);
    while (!signal.aborted) {
      try {
        let opened: P | undefined;
        opened = await this.#open(() => opened && this.#replaced(opened));
        this.#running = { parts: opened, isOpen: true };
        return;
      } catch (err) {
        this.#log.error({ err }, 'the service could not start anew, and tries again');
        await sleep(backoff.next(), signal);
      }
    }
  }
}
