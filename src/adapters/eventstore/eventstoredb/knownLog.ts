import { type EventPosition, LogReplacedError } from '../../../ports/eventStore.js';
import type { LogReader } from './logReader.js';

/**
 * Whether the server still has the log that this process has read. Behind a new connection may stand an older copy, or
 * another log: so after each lost one, what was read last is looked up before anything is written or read on.
 */
export class KnownLog {
  readonly #reader: Pick<LogReader, 'holds'>;
  #read: EventPosition = { position: 0 };
  /** Connections lost so far, and how many of them the log was looked up after. */
  #lost = 0;
  #lookedUp = 0;
  #lookingUp: Promise<void> | undefined;

  constructor(reader: Pick<LogReader, 'holds'>) {
    this.#reader = reader;
  }

  /** An event of the log; those of the server itself, which it removes some day, have no id here. */
  saw({ position, eventId }: EventPosition): void {
    if (eventId !== undefined && position > this.#read.position) this.#read = { position, eventId };
  }

  connectionLost(): void {
    this.#lost += 1;
  }

  /** Costs nothing while no connection was lost. @throws LogReplacedError, and what reading throws */
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
