import type { Position } from '../../../ports/eventStore.js';

/**
 * How far one connection of a filtered subscription has looked. The server tells only some of it, and a position that
 * is too high would lose events, so each step has its proof.
 */
export class Progress {
  #position: Position;
  readonly #headBefore: Position;
  #checkpoint: Position | undefined;

  /**
   * @param position looked at before
   * @param headBefore the head of the log, read before the subscription was opened
   */
  constructor(position: Position, headBefore: Position) {
    this.#position = position;
    this.#headBefore = headBefore;
  }

  get position(): Position {
    return this.#position;
  }

  /** The server sends what matches in the order of the log: with an event, everything up to it has been sent. */
  delivered(position: Position): void {
    this.#reach(position);
  }

  /**
   * With a checkpoint everything before it has been looked at and, where it matches, was sent. Whether the event at
   * the checkpoint itself was, depends on the server's version (EventStoreDB 4970). So it takes the next checkpoint to
   * be sure of this one.
   */
  checkpoint(position: Position): void {
    if (this.#checkpoint !== undefined && position > this.#checkpoint) this.#reach(this.#checkpoint);
    this.#checkpoint = Math.max(position, this.#checkpoint ?? 0);
  }

  /**
   * The server says "caught up" when it has read to the end of the log as it was when, after the catch-up, it began to
   * listen for new events. That is not before the head that was read, from the same leader, before the subscription was
   * opened. What matches up to that head has been sent by now.
   */
  caughtUp(): void {
    this.#reach(this.#headBefore);
  }

  #reach(position: Position): void {
    this.#position = Math.max(this.#position, position);
  }
}
