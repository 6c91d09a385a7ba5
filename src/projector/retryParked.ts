/**
 * Retries a parked part when an operator asks for it: catches it up from its own checkpoint to the projection's,
 * reading only the tenant's streams, while the others continue. It is parked again if an event still cannot be applied.
 */
import type PQueue from 'p-queue';
import { parseStream } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import { type Projection, streamsOf } from '../ports/projection.js';
import type { Parked } from '../ports/projectionProgress.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';
import { EventApplier, inTransactionWithout, lastBefore, parkedAt } from './applying.js';
import { ProjectedTenants, type Step, slicesUpTo, stepsOf } from './steps.js';

type RetryDeps = {
  readonly eventStore: Pick<EventStore, 'subscribe' | 'readStream'>;
  readonly writer: ReadModelWriter;
  readonly projections: readonly Projection[];
  readonly writing: PQueue;
  readonly onParked?: (parked: Parked) => void;
  readonly onUnparked?: (parked: Parked) => void;
  /** False while nothing is parked: then the engine is not asked. */
  readonly isAnyParked: () => boolean;
};

/** How often, in milliseconds, the engine is asked for retries while anything is parked. */
const LOOK_MS = 500;
/** Positions between the part and the others below which the others wait for the rest. */
const CLOSE = 200;

/** Runs until the signal aborts. @throws what an engine throws */
export async function retryParked(parts: RetryDeps, signal: AbortSignal): Promise<void> {
  const { writer, writing, projections } = parts;
  for (;;) {
    await sleep(LOOK_MS, signal);
    if (signal.aborted) return;
    if (!parts.isAnyParked()) continue;
    const parked = await writing.add(() => writer.parked());
    for (const each of parked) {
      const projection = projections.find(({ name }) => name === each.projection);
      if (each.retryAsked && projection !== undefined) await new Retry(parts, projection, each).run(signal);
      if (signal.aborted) return;
    }
  }
}

/** `moved`: caught up as asked. `ended`: continues with the others, is parked again, or was rebuilt. */
type Outcome = 'moved' | 'ended';

class Retry {
  readonly #parts: RetryDeps;
  readonly #projection: Projection;
  readonly #tenants: ProjectedTenants;
  #parked: Parked;

  constructor(parts: RetryDeps, projection: Projection, parked: Parked) {
    this.#parts = parts;
    this.#projection = projection;
    this.#tenants = new ProjectedTenants(parts.eventStore);
    this.#parked = parked;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { writing } = this.#parts;
    for (;;) {
      const reached = await writing.add(() => this.#checkpoint());
      for await (const { events, position } of this.#read(reached, signal)) {
        const steps = await stepsOf(this.#tenants, events);
        if ((await writing.add(() => this.#advance(steps, position))) === 'ended') return;
      }
      if (signal.aborted || (await writing.add(() => this.#join(signal))) === 'ended') return;
    }
  }

  #checkpoint(): Promise<Position> {
    return this.#parts.writer.checkpoint(this.#projection.name);
  }

  /** The tenant's events after its checkpoint, up to a position of the log. */
  async *#read(
    to: Position,
    signal: AbortSignal,
  ): AsyncGenerator<{ readonly events: readonly RecordedEvent[]; readonly position: Position }> {
    const { tenant, checkpoint: after } = this.#parked;
    const part = { after, to, streamPrefixes: streamsOf(this.#projection, tenant) };
    for await (const { events, position } of slicesUpTo(this.#parts.eventStore, part, signal)) {
      yield { events: events.filter((event) => parseStream(event.stream).tenant === tenant), position };
    }
  }

  async #advance(steps: readonly Step[], position: Position): Promise<Outcome> {
    return this.#write(steps, async () => {
      this.#parked = { ...this.#parked, checkpoint: position };
      await this.#parts.writer.park(this.#parked);
    });
  }

  /** Applies the small rest under the lock, while the others wait. */
  async #join(signal: AbortSignal): Promise<Outcome> {
    const reached = await this.#checkpoint();
    if (reached - this.#parked.checkpoint > CLOSE) return 'moved';
    const steps: Step[] = [];
    for await (const { events } of this.#read(reached, signal)) steps.push(...(await stepsOf(this.#tenants, events)));
    if (signal.aborted) return 'ended';
    const { writer, onUnparked } = this.#parts;
    let hasJoined = false;
    const outcome = await this.#write(steps, async () => {
      // Another process may have projected before the transaction began.
      hasJoined = (await this.#checkpoint()) === reached;
      this.#parked = { ...this.#parked, checkpoint: reached };
      await (hasJoined ? writer.unpark(this.#parked) : writer.park(this.#parked));
    });
    if (outcome === 'ended' || !hasJoined) return outcome;
    onUnparked?.(this.#parked);
    return 'ended';
  }

  /** In one transaction: applies the steps and runs `updateMark`; or parks the tenant at the first failure. */
  async #write(steps: readonly Step[], updateMark: () => Promise<void>): Promise<Outcome> {
    const { writer, onParked } = this.#parts;
    const from = this.#parked;
    let isOurs = true;
    const work = { projections: [this.#projection], steps: () => steps };
    const failures = await inTransactionWithout(writer, work, async (found) => {
      const stored = (await writer.parked()).find(
        ({ tenant, projection }) => tenant === from.tenant && projection === from.projection,
      );
      isOurs = stored?.checkpoint === from.checkpoint;
      if (!isOurs) return new Map();
      const [failure] = found.values();
      const applying = new EventApplier(writer);
      const outOfOrder = await writer.outOfOrder();
      for (const step of steps) {
        if (failure !== undefined && step.event.position >= failure.event.position) break;
        const before = outOfOrder.find(
          ({ projection, position }) => projection === from.projection && position === step.event.position,
        );
        if (before === undefined) await applying.apply(this.#projection, step);
        else if (before.pieces !== null) await applying.applyRest(this.#projection, step, before.pieces);
      }
      if (failure === undefined) await updateMark();
      else {
        const own = new Map([[this.#projection.name, from.checkpoint]]);
        this.#parked = parkedAt(failure, lastBefore(failure, steps, own));
        await writer.park(this.#parked);
      }
      return new Map();
    });
    if (failures.size > 0) onParked?.(this.#parked);
    return isOurs && failures.size === 0 ? 'moved' : 'ended';
  }
}
