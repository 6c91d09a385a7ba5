import { type EventPosition, LogReplacedError } from '../../../ports/eventStore.js';
import type { LogReader } from './logReader.js';

/**
 * Checks that the server still has the log that this process has read. After a reconnect, the server may have an older
 * copy or another log. So after each lost connection, the last event that was read is looked up before anything is read
 * on or written.
 */
export class KnownLog {
  readonly #reader: Pick<LogReader, 'holds'>;
  #read: EventPosition = { position: 0 };
  /** Lost connections so far, and how many of them a look-up has covered. */
  #lost = 0;
  #lookedUp = 0;
  #lookingUp: Promise<void> | undefined;

  constructor(reader: Pick<LogReader, 'holds'>) {
    this.#reader = reader;
  }

  /** Notes the last event. Events of the server itself, which it removes some day, have no id here. */
  saw({ position, eventId }: EventPosition): void {
    if (eventId !== undefined && position > this.#read.position) this.#read = { position, eventId };
  }

  connectionLost(): void {
    this.#lost += 1;
  }

  /** Costs nothing unless a connection was lost. @throws LogReplacedError, and what reading throws */
  async check(): Promise<void> {
    while (this.#lookedUp < this.#lost) {
      this.#lookingUp ??= this.#lookUp().finally(() => {
        this.#lookingUp = undefined;
      });
      await this.#lookingUp;
    }
  }

  async #lookUp(): Promise<void> {
    const lost = this.#lost;
    if (!(await this.#reader.holds(this.#read))) throw new LogReplacedError();
    this.#lookedUp = lost;
  }
}
