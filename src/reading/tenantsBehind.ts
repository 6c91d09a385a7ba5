/**
 * Which tenants the projections have not applied all events of. Each event is looked at once, however often it is asked, and
 * only for a while at a time: whoever asks again learns more.
 */
import { parseStream } from '../domain/streams.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';
import type { Projected } from '../projector/unapplied.js';

export type TenantsBehind = {
  readonly names: readonly string[];
  /** False where the log was not looked through in time: there may be more. */
  readonly isAll: boolean;
};

export class BehindLooks {
  readonly #eventStore: Pick<EventStore, 'subscribe'>;
  readonly #streamPrefixes: readonly string[];
  #checkpoint: Position = 0;
  #lookedTo: Position = 0;
  /** Position of the tenant's last event that was looked at. */
  readonly #lastOf = new Map<string, Position>();

  constructor(eventStore: Pick<EventStore, 'subscribe'>, projections: readonly Projection[]) {
    this.#eventStore = eventStore;
    this.#streamPrefixes = [...new Set(projections.flatMap(({ streamPrefixes }) => streamPrefixes))];
  }

  /**
   * @param writtenBefore milliseconds since 1970: younger events do not count
   * @param limitMs about so long the log is looked through
   * @throws what the log throws
   */
  async look(
    { after: checkpoint, outOfOrder = new Set() }: Projected,
    writtenBefore: number,
    limitMs: number,
  ): Promise<TenantsBehind> {
    this.#moveTo(checkpoint);
    const isAll = await this.#lookOn(outOfOrder, writtenBefore, limitMs);
    return { names: [...this.#lastOf.keys()], isAll };
  }

  #moveTo(checkpoint: Position): void {
    // The projections were put back: what they had applied was not looked at.
    if (checkpoint < this.#checkpoint) {
      this.#lookedTo = 0;
      this.#lastOf.clear();
    }
    this.#checkpoint = checkpoint;
    this.#lookedTo = Math.max(this.#lookedTo, checkpoint);
    for (const [tenant, position] of this.#lastOf) if (position <= checkpoint) this.#lastOf.delete(tenant);
  }

  /** Whether it came to the end. */
  async #lookOn(outOfOrder: ReadonlySet<Position>, writtenBefore: number, limitMs: number): Promise<boolean> {
    const signal = AbortSignal.timeout(limitMs);
    const [after, streamPrefixes] = [this.#lookedTo, this.#streamPrefixes];
    for await (const { events, position, caughtUp } of this.#eventStore.subscribe({ after, streamPrefixes, signal })) {
      const old = events.filter(({ metadata }) => Date.parse(metadata.occurredAt) < writtenBefore);
      for (const event of old)
        if (!outOfOrder.has(event.position)) this.#lastOf.set(parseStream(event.stream).tenant, event.position);
      if (old.length < events.length) return true;
      this.#lookedTo = position;
      if (caughtUp) return true;
    }
    return false;
  }
}
