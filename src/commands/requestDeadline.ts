/** The deadline of one request, and whether anything of it may be written: what the caller is told when time is up. */
import {
  type AppendResult,
  AppendTooLargeError,
  EventStoreUnavailableError,
  type Position,
  WrongExpectedRevisionError,
} from '../ports/eventStore.js';
import { Deadline } from '../supervision/deadline.js';

export class RequestDeadline extends Deadline {
  /** Appends that are stored, or in flight. */
  #appends = 0;
  /** Position of the last append of the request; 0 before the first. */
  written: Position = 0;

  /** Whether anything of the request is in the log, or may still get there. After the deadline no append is started. */
  get mayHaveWritten(): boolean {
    return this.#appends > 0;
  }

  /**
   * Starts an append, unless the deadline has passed.
   * @throws DeadlineError, and what the append throws
   */
  async append(ask: () => Promise<AppendResult>): Promise<AppendResult> {
    this.throwIfCancelled();
    this.#appends += 1;
    try {
      const appended = await this.within(ask());
      this.written = Math.max(this.written, appended.position);
      return appended;
    } catch (error) {
      if (isRefusal(error)) this.#appends -= 1;
      throw error;
    }
  }
}

/** Nothing of the append is stored, and nothing will be. */
const isRefusal = (error: unknown): boolean =>
  error instanceof WrongExpectedRevisionError ||
  error instanceof AppendTooLargeError ||
  (error instanceof EventStoreUnavailableError && !error.mayBeStored);
