import type { Position } from '../ports/eventStore.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import { DELIVERY_QUEUE } from './queue.js';

/** How long a checkpoint may stay behind. */
const QUIET_MS = 1_000;

/**
 * Moves a checkpoint where nothing is published: not with each event, for that costs a write, and soon after the last
 * one, so that a start finds little to go through again.
 */
export class QuietCheckpoint {
  readonly #broker: MessageBroker;
  readonly #name: string;
  #position: Position = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(broker: MessageBroker, name: string) {
    this.#broker = broker;
    this.#name = name;
  }

  /** Everything up to here needs nothing more. */
  passed(position: Position): void {
    this.#position = position;
    this.#timer ??= setTimeout(() => void this.#store(), QUIET_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #store(): Promise<void> {
    this.#timer = undefined;
    const checkpoint = { name: this.#name, position: this.#position };
    // A broker that is away is spoken of by whoever needs it; going on from an older checkpoint is harmless.
    await this.#broker.publishWithCheckpoint(DELIVERY_QUEUE, [], checkpoint).catch(() => undefined);
  }
}
