/** How far the relay is in the log: kept in the broker, with or after the messages that it covers. */
import type { EventPosition, LogAnchor } from '../ports/eventStore.js';
import { anchorAt } from '../ports/logAnchor.js';
import type { Message, MessageBroker } from '../ports/messageBroker.js';
import { DELIVERY_QUEUE } from './queue.js';

/** From the time when the relay knew approvals only. */
const NAME = 'approval-relay';

/** How long the checkpoint may stay behind while nothing is published. */
const QUIET_MS = 1_000;

/** The place that the relay has reached; position 0 when it never ran. */
export const relayedPlace = (broker: Pick<MessageBroker, 'checkpoint'>): Promise<LogAnchor> => broker.checkpoint(NAME);

export class RelayCheckpoint {
  readonly #broker: MessageBroker;
  readonly #log: string;
  #timer: NodeJS.Timeout | undefined;
  #passed: EventPosition = { position: 0 };

  /** @param log id of the log that is relayed */
  constructor(broker: MessageBroker, log: string) {
    this.#broker = broker;
    this.#log = log;
  }

  async publish(messages: readonly Message[], place: EventPosition): Promise<void> {
    await this.#broker.publishWithCheckpoint(DELIVERY_QUEUE, messages, { name: NAME, ...anchorAt(this.#log, place) });
  }

  /** In place of a checkpoint that the log does not have. */
  async reset(place: EventPosition): Promise<void> {
    const checkpoint = { name: NAME, ...anchorAt(this.#log, place), anew: true };
    await this.#broker.publishWithCheckpoint(DELIVERY_QUEUE, [], checkpoint);
  }

  /**
   * Everything up to here needs nothing more. The checkpoint moves not with each event, for that costs a write, and soon
   * after the last one, so that a start finds little to go through again.
   */
  passed(place: EventPosition): void {
    this.#passed = place;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // A broker that is away is reported by whoever needs it; going on from an older checkpoint is harmless.
      this.publish([], this.#passed).catch(() => undefined);
    }, QUIET_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
