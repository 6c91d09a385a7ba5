/** The time of one request, and what has become of its writes: what the caller is to know when the time is over. */
import { EventStoreUnavailableError, EventTooLargeError, WrongExpectedRevisionError } from '../ports/eventStore.js';
import { Deadline } from '../supervision/deadline.js';

export class RequestDeadline extends Deadline {
  /** Appends that are stored, or that the log was asked for and has not refused. */
  #appends = 0;

  /** Whether anything of the request is in the log, or may come there yet. Once the time is over nothing more is asked of it. */
  get mayHaveWritten(): boolean {
    return this.#appends > 0;
  }

  /**
   * Asks the log for an append, unless the time is over.
   * @throws DeadlineError, and what the append throws
   */
  async append<T>(ask: () => Promise<T>): Promise<T> {
    this.throwIfCancelled();
    this.#appends += 1;
    try {
      return await this.within(ask());
    } catch (error) {
      if (isRefusal(error)) this.#appends -= 1;
      throw error;
    }
  }
}

/** Nothing of the append is stored, and nothing will be. */
const isRefusal = (error: unknown): boolean =>
  error instanceof WrongExpectedRevisionError ||
  error instanceof EventTooLargeError ||
  (error instanceof EventStoreUnavailableError && !error.mayBeStored);
