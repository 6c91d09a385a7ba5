/**
 * Runs the parts that hold something of the log in memory, behind a listener that outlives them. If the log turns out
 * to be another one, all parts are closed and opened again, so no old state is left.
 */
import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { Backoff } from '../supervision/keepRunning.js';
import { sleep } from '../supervision/waiting.js';

export type RunningParts = {
  readonly app: RequestListener;
  close(): Promise<void>;
};

/** @param onReplaced call it, with what was found where, when the log is not the one that was opened */
export type OpenParts<P extends RunningParts> = (onReplaced: (places: string) => void) => Promise<P>;

/** Answers requests while there are no parts. */
export type Meanwhile = {
  /** Before the first parts are open. */
  readonly starting: RequestListener;
  readonly startingAnew: RequestListener;
};

const BACKOFF = { firstMs: 500, longestMs: 10_000 };

export class Restartable<P extends RunningParts> {
  readonly #open: OpenParts<P>;
  readonly #meanwhile: Meanwhile;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  /** Undefined until the first parts are open. */
  #running: { readonly parts: P; readonly isOpen: boolean } | undefined;
  #restart: Promise<void> = Promise.resolve();

  constructor(open: OpenParts<P>, meanwhile: Meanwhile, log: Logger) {
    this.#open = open;
    this.#meanwhile = meanwhile;
    this.#log = log;
  }

  /** Call it once. @throws what opening throws. Later restarts are retried until one succeeds. */
  async start(): Promise<void> {
    let opened: P | undefined;
    opened = await this.#open((places) => opened && this.#replaced(opened, places));
    this.#running = { parts: opened, isOpen: true };
  }

  /** The latest parts. @throws Error before the start */
  get parts(): P {
    if (this.#running === undefined) throw new Error('Nothing has been opened yet.');
    return this.#running.parts;
  }

  readonly listener: RequestListener = (req, res) => {
    const { starting, startingAnew } = this.#meanwhile;
    if (this.#running === undefined) starting(req, res);
    else (this.#running.isOpen ? this.#running.parts.app : startingAnew)(req, res);
  };

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#restart;
    if (this.#running?.isOpen) await this.#running.parts.close();
  }

  #replaced(parts: P, places: string): void {
    const { signal } = this.#stopping;
    if (signal.aborted || !this.#running?.isOpen || parts !== this.#running.parts) return;
    this.#running = { parts, isOpen: false };
    this.#log.error(
      { places },
      'the event log is not the one from before: it was put back to an older copy, or is another one; the service starts again on it',
    );
    this.#restart = this.#openAgain(parts, signal);
  }

  async #openAgain(parts: P, signal: AbortSignal): Promise<void> {
    await parts.close().catch((err: unknown) => this.#log.warn({ err }, 'not all of the service could be closed'));
    const backoff = new Backoff(BACKOFF);
    while (!signal.aborted) {
      try {
        let opened: P | undefined;
        opened = await this.#open((places) => opened && this.#replaced(opened, places));
        this.#running = { parts: opened, isOpen: true };
        return;
      } catch (err) {
        this.#log.error({ err }, 'the service could not start again, and retries');
        await sleep(backoff.next(), signal);
      }
    }
  }
}
