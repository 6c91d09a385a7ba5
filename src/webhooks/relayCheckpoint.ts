/** The relay's checkpoint. The broker stores it, after the messages that it covers. */
import type { EventPosition, LogAnchor } from '../ports/eventStore.js';
import { anchorAt } from '../ports/logAnchor.js';
import type { MessageBroker } from '../ports/messageBroker.js';

/** The name is from the time when the relay knew approvals only. */
const CHECKPOINT = 'approval-relay';

/** How long the stored checkpoint may lag while nothing is published. */
const QUIET_MS = 1_000;

/** The relay's checkpoint; position 0 if it never ran. */
export const relayedAnchor = (broker: Pick<MessageBroker, 'checkpoint'>): Promise<LogAnchor> =>
  broker.checkpoint(CHECKPOINT);

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

  /** Everything up to here is published; or the place that the relay begins at in another log. */
  async store(place: EventPosition): Promise<void> {
    await this.#broker.storeCheckpoint(CHECKPOINT, anchorAt(this.#log, place));
  }

  /**
   * Nothing up to here needs publishing. Storing this with each event would cost a write each; storing it soon after the
   * last one keeps the next start short.
   */
  advance(place: EventPosition): void {
    this.#passed = place;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // A broker outage is reported by its other users. Resuming at an older checkpoint is harmless.
      this.store(this.#passed).catch(() => undefined);
    }, QUIET_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
